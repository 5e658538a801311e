"""Customers' accounts as answers."""

from typing import Annotated

from typing_extensions import TypedDict

from engine.control.customers import QuotasDraft
from engine.control.views import QuotasDocument
from engine.drafts import DocumentedAs, Uuid, told
from engine.model.instants import Timestamp


class CustomerLimits(TypedDict):
    """The limits that a customer's embed sessions act by."""

    destinations: int
    rules: int
    transforms: int
    requestsPerMinute: int


class CustomerUse(TypedDict):
    """What a customer has, whoever made it."""

    destinations: Annotated[int, told("Archived ones left out.")]
    rules: int
    transforms: int


class CustomerErasure(TypedDict):
    """The last request to erase a customer's contents."""

    requestedAt: Timestamp
    finishedAt: Annotated[Timestamp | None, told("Null while it goes on.")]
    events: Annotated[int, told("That have lost their contents so far.")]


class CustomerItem(TypedDict):
    """A customer's account, as lists show it."""

    customerExternalId: str
    customerAccountId: Uuid
    name: str | None
    quotas: Annotated[QuotasDocument, DocumentedAs(QuotasDraft)]
    createdAt: Annotated[Timestamp, told("When something first named the customer.")]


class Customer(CustomerItem):
    """A customer's account."""

    erasure: Annotated[CustomerErasure | None, told("Null where nobody asked for one.")]
    limits: CustomerLimits
    used: CustomerUse
