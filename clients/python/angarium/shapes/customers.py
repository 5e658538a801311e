"""Customers' accounts."""

from typing import TypedDict


class CustomerQuotas(TypedDict, total=False):
    """Quotas of one account. What is null or absent is as the workspace's plan has it."""

    destinations: int | None
    rules: int | None
    transforms: int | None
    requestsPerMinute: int | None


class CustomerLimits(TypedDict):
    """The limits that a customer's embed sessions act by."""

    destinations: int
    rules: int
    transforms: int
    requestsPerMinute: int


class CustomerUse(TypedDict):
    """What a customer has, whoever made it."""

    destinations: int
    rules: int
    transforms: int


class Customer(TypedDict):
    """A customer's account."""

    customerExternalId: str
    customerAccountId: str
    name: str | None
    quotas: CustomerQuotas
    limits: CustomerLimits
    used: CustomerUse
