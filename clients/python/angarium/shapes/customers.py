# Made of the API's routes by `python -m api.generation`; do not edit.
"""Shapes of `client.customers`."""

from typing import TypedDict


class CustomerErasure(TypedDict):
    """The last request to erase a customer's contents."""

    requestedAt: str
    # Null while the erasure runs.
    finishedAt: str | None
    # The number of events erased so far.
    events: int


class CustomerLimits(TypedDict):
    """The limits of a customer's embed sessions."""

    destinations: int
    rules: int
    transforms: int
    requestsPerMinute: int


class CustomerUse(TypedDict):
    """The numbers of a customer's objects, whoever created them."""

    # Without archived ones.
    destinations: int
    rules: int
    transforms: int


class PermissionsDraft(TypedDict, total=False):
    """What sessions of one customer may do, by the names in the workspace's `customerMay`. A
    permission that is null is that of the workspace.
    """

    createDestinations: bool | None
    editDestinations: bool | None
    switchDestinations: bool | None
    archiveDestinations: bool | None
    testDestinations: bool | None
    editHeaders: bool | None
    editDeliveryOptions: bool | None
    rotateSecrets: bool | None
    manageRules: bool | None
    manageTransforms: bool | None
    retryDeliveries: bool | None
    discardDeliveries: bool | None
    replay: bool | None
    viewPayloads: bool | None


class QuotasDraft(TypedDict, total=False):
    """Quotas of one account. A quota that is null is that of the workspace's plan."""

    # Archived ones are not counted.
    destinations: int | None
    # Routing rules of its destinations.
    rules: int | None
    # Transform scripts of its destinations.
    transforms: int | None
    # Of all its sessions together.
    requestsPerMinute: int | None


class Customer(TypedDict):
    """A customer's account."""

    customerExternalId: str
    customerAccountId: str
    name: str | None
    quotas: QuotasDraft
    # When an object first named the customer.
    createdAt: str
    permissions: PermissionsDraft
    # Null if no erasure was requested.
    erasure: CustomerErasure | None
    limits: CustomerLimits
    used: CustomerUse


class CustomerDraft(TypedDict, total=False):
    """Name, quotas and permissions of a customer's account. A PUT replaces them: what is left
    out is reset.
    """

    # For people; null: its customerExternalId serves.
    name: str | None
    quotas: QuotasDraft | None
    permissions: PermissionsDraft | None


class CustomerItem(TypedDict):
    """A customer's account in a list."""

    customerExternalId: str
    customerAccountId: str
    name: str | None
    quotas: QuotasDraft
    # When an object first named the customer.
    createdAt: str
