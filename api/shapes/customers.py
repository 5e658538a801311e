"""Customers' accounts as answers."""

from pydantic import Field

from engine.control.customers import QuotasDraft
from engine.drafts import Document, Uuid


class CustomerLimits(Document):
    """The limits that a customer's embed sessions act by."""

    destinations: int
    rules: int
    transforms: int
    requests_per_minute: int


class CustomerUse(Document):
    """What a customer has, whoever made it."""

    destinations: int = Field(description="Archived ones left out.")
    rules: int
    transforms: int


class Customer(Document):
    """A customer's account."""

    customer_external_id: str
    customer_account_id: Uuid
    name: str | None
    quotas: QuotasDraft
    limits: CustomerLimits
    used: CustomerUse
