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

    # Destinations, without archived ones.
    destinations: int
    rules: int
    transforms: int


class PermissionsDraft(TypedDict, total=False):
    """The permissions of one customer's sessions. If a permission is null, the permission of the
    same name in the workspace setting `customerMay` applies.
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
    """The quotas of a customer's account. Null: the quota of the workspace's plan."""

    # Destinations, without archived ones.
    destinations: int | None
    # Routing rules of the customer's destinations.
    rules: int | None
    # Transform scripts of the customer's destinations.
    transforms: int | None
    # Requests of all the customer's sessions together.
    requestsPerMinute: int | None


class Customer(TypedDict):
    """A customer's account."""

    customerExternalId: str
    customerAccountId: str
    name: str | None
    quotas: QuotasDraft
    # The time when an object first named the customer.
    createdAt: str
    permissions: PermissionsDraft
    # Null if no erasure was requested.
    erasure: CustomerErasure | None
    limits: CustomerLimits
    used: CustomerUse


class CustomerDraft(TypedDict, total=False):
    """The name, quotas and permissions of a customer's account. A PUT replaces all of them: a
    missing field gets its default.
    """

    # A name for people. Null: the customerExternalId is shown.
    name: str | None
    quotas: QuotasDraft | None
    permissions: PermissionsDraft | None


class CustomerItem(TypedDict):
    """A customer's account in a list."""

    customerExternalId: str
    customerAccountId: str
    name: str | None
    quotas: QuotasDraft
    # The time when an object first named the customer.
    createdAt: str
