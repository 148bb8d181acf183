"""What REST interfaces share: tokens, limits of requests, answers to what is wrong, the server."""
