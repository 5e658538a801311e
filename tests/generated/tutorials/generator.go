// The tutorial by the Go client of openapi-generator.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"example.com/tutorial/angarium"
)

func must[T any, R any](answer T, _ R, err error) T {
	if err != nil {
		panic(err)
	}
	return answer
}

func main() {
	url, key, hook := os.Args[1], os.Args[2], os.Args[3]
	deadline, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ctx := context.WithValue(deadline, angarium.ContextAccessToken, key)
	configuration := angarium.NewConfiguration()
	configuration.Servers = angarium.ServerConfigurations{{URL: url}}
	api := angarium.NewAPIClient(configuration)

	options := angarium.NewDeliveryOptionsWithDefaults()
	options.SetOrdering(angarium.ORDERING_KEY)
	options.SetRetrySchedule([]int32{1, 5, 30})
	draft := angarium.NewDestinationDraft("Orders", hook)
	draft.SetDelivery(*options)
	destination := must(api.DestinationsAPI.CreateDestination(ctx).
		AnyDestinationDraft(angarium.DestinationDraftAsAnyDestinationDraft(draft)).Execute())
	rule := must(api.RoutingRulesAPI.CreateRoutingRule(ctx).RuleDraft(
		*angarium.NewRuleDraft("All about orders", destination.Id, []string{"order.*"}),
	).Execute())
	event := angarium.NewEventInput(
		"order.created", map[string]interface{}{"order": 42, "total": "19.90"},
	)
	event.SetIdempotencyKey("order-42-created")
	sent := must(api.EventsAPI.IngestEvent(ctx).EventInput(*event).Execute())
	again := must(api.EventsAPI.IngestEvent(ctx).EventInput(*event).Execute())
	var item angarium.DeliveryItem
	for item.Status != angarium.DELIVERYSTATUS_DELIVERED {
		item = must(api.DeliveriesAPI.ListDeliveriesOfEvent(ctx, sent.Id).Execute()).Items[0]
		time.Sleep(20 * time.Millisecond)
	}
	delivery := must(api.DeliveriesAPI.GetDelivery(ctx, item.Id).Execute())
	health := must(api.DestinationsAPI.GetDestinationHealth(ctx, destination.Id).Execute())
	_, response, err := api.DeliveriesAPI.GetDelivery(ctx, rule.Id).Execute()
	var failed *angarium.GenericOpenAPIError
	if !errors.As(err, &failed) {
		panic(err)
	}
	envelope := failed.Model().(angarium.Error)
	text, err := json.Marshal(map[string]interface{}{
		"enabled":   rule.Enabled,
		"duplicate": []bool{sent.Duplicate, again.Duplicate},
		"same":      sent.Id == again.Id,
		"status":    delivery.Status,
		"response":  delivery.Attempts[0].ResponseStatus.Get(),
		"circuit":   health.Circuit.State,
		"error":     []interface{}{response.StatusCode, envelope.Code},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(string(text))
}
