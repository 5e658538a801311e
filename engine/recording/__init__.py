"""The recorder: it writes outcomes of attempts to the store, and reports them to counters and feeds."""
