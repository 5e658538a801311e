// The tutorial by the client of oapi-codegen.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"

	"example.com/tutorial/angarium"
)

func must[T any](answer T, err error) T {
	if err != nil {
		panic(err)
	}
	return answer
}

func found[T any](document *T, body []byte) *T {
	if document == nil {
		panic(string(body))
	}
	return document
}

func main() {
	url, key, hook := os.Args[1], os.Args[2], os.Args[3]
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	bearer := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+key)
		return nil
	}
	api := must(angarium.NewClientWithResponses(url, angarium.WithRequestEditorFn(bearer)))

	ordering, schedule := angarium.KEY, []int{1, 5, 30}
	var draft angarium.AnyDestinationDraft
	if err := draft.FromDestinationDraft(angarium.DestinationDraft{
		Name: "Orders", Url: hook,
		Delivery: &angarium.DeliveryOptions{Ordering: &ordering, RetrySchedule: &schedule},
	}); err != nil {
		panic(err)
	}
	made := must(api.CreateDestinationWithResponse(ctx, nil, draft))
	destination := found(made.JSON201, made.Body)
	ruled := must(api.CreateRoutingRuleWithResponse(ctx, nil, angarium.RuleDraft{
		Name: "All about orders", DestinationId: destination.Id, EventTypes: []string{"order.*"},
	}))
	rule := found(ruled.JSON201, ruled.Body)
	idempotency := "order-42-created"
	event := angarium.EventInput{
		EventType:      "order.created",
		Payload:        map[string]interface{}{"order": 42, "total": "19.90"},
		IdempotencyKey: &idempotency,
	}
	first := must(api.IngestEventWithResponse(ctx, nil, event))
	second := must(api.IngestEventWithResponse(ctx, nil, event))
	sent, again := found(first.JSON202, first.Body), found(second.JSON202, second.Body)
	var item angarium.DeliveryItem
	for item.Status != angarium.DeliveryStatusDELIVERED {
		listed := must(api.ListDeliveriesOfEventWithResponse(ctx, sent.Id, nil))
		item = found(listed.JSON200, listed.Body).Items[0]
		time.Sleep(20 * time.Millisecond)
	}
	read := must(api.GetDeliveryWithResponse(ctx, item.Id, nil))
	delivery := found(read.JSON200, read.Body)
	seen := must(api.GetDestinationHealthWithResponse(ctx, destination.Id, nil))
	health := found(seen.JSON200, seen.Body)
	missing := must(api.GetDeliveryWithResponse(ctx, rule.Id, nil))
	refusal := found(missing.JSON404, missing.Body)
	text := must(json.Marshal(map[string]interface{}{
		"enabled":   rule.Enabled,
		"duplicate": []bool{sent.Duplicate, again.Duplicate},
		"same":      sent.Id == again.Id,
		"status":    delivery.Status,
		"response":  delivery.Attempts[0].ResponseStatus,
		"circuit":   health.Circuit.State,
		"error":     []interface{}{missing.StatusCode(), refusal.Code},
	}))
	fmt.Println(string(text))
}
