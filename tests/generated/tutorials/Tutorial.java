import java.util.List;
import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.DeliveriesApi;
import org.openapitools.client.api.DestinationsApi;
import org.openapitools.client.api.EventsApi;
import org.openapitools.client.api.RoutingRulesApi;
import org.openapitools.client.model.AnyDestinationDraft;
import org.openapitools.client.model.DeliveryItem;
import org.openapitools.client.model.DeliveryOptions;
import org.openapitools.client.model.DeliveryStatus;
import org.openapitools.client.model.DestinationDraft;
import org.openapitools.client.model.Error;
import org.openapitools.client.model.EventInput;
import org.openapitools.client.model.Ordering;
import org.openapitools.client.model.RuleDraft;

/** The tutorial by the Java client of openapi-generator (library native). */
public class Tutorial {
  public static void main(String[] given) throws Exception {
    ApiClient client = new ApiClient();
    client.updateBaseUri(given[0]);
    client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + given[1]));
    DestinationsApi destinations = new DestinationsApi(client);
    DeliveriesApi deliveries = new DeliveriesApi(client);
    EventsApi events = new EventsApi(client);

    DestinationDraft draft = new DestinationDraft().name("Orders").url(given[2]).delivery(
        new DeliveryOptions().ordering(Ordering.KEY).retrySchedule(List.of(1, 5, 30)));
    var destination = destinations.createDestination(new AnyDestinationDraft(draft), null);
    var rule = new RoutingRulesApi(client).createRoutingRule(
        new RuleDraft().name("All about orders").destinationId(destination.getId())
            .eventTypes(List.of("order.*")), null);
    EventInput event = new EventInput().eventType("order.created")
        .payload(Map.of("order", 42, "total", "19.90")).idempotencyKey("order-42-created");
    var sent = events.ingestEvent(event, null, null);
    var again = events.ingestEvent(event, null, null);
    long until = System.currentTimeMillis() + 60_000;
    DeliveryItem item;
    do {
      Thread.sleep(20);
      item = deliveries.listDeliveriesOfEvent(sent.getId(), null, null, null).getItems().get(0);
    } while (item.getStatus() != DeliveryStatus.DELIVERED && System.currentTimeMillis() < until);
    var delivery = deliveries.getDelivery(item.getId(), null);
    var health = destinations.getDestinationHealth(destination.getId(), null);
    List<Object> error = List.of();
    try {
      deliveries.getDelivery(rule.getId(), null);
    } catch (ApiException refusal) {
      Error envelope = client.getObjectMapper().readValue(refusal.getResponseBody(), Error.class);
      error = List.of(refusal.getCode(), envelope.getCode());
    }
    System.out.println(client.getObjectMapper().writeValueAsString(Map.of(
        "enabled", rule.getEnabled(),
        "duplicate", List.of(sent.getDuplicate(), again.getDuplicate()),
        "same", sent.getId().equals(again.getId()),
        "status", delivery.getStatus(),
        "response", delivery.getAttempts().get(0).getResponseStatus(),
        "circuit", health.getCircuit().getState(),
        "error", error)));
  }
}
