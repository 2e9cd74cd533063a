"""What the learners are compared with: baselines, policies, batch algorithms, other libraries."""
