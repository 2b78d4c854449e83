"""One attempt on one node: records, tools, quotas, staging, and the decisions."""
