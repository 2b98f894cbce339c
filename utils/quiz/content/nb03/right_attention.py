"""Right solutions of X03-1, each written differently. The build proves that all of them pass."""

ALSO_RIGHT = (
    """
def attention(q, k, v):
    scores = torch.einsum("...md,...nd->...mn", q, k) * q.size(-1) ** -0.5
    weights = F.softmax(scores, dim=-1)
    return [torch.einsum("...mn,...ne->...me", weights, v), weights]
""",
    """
def attention(q, k, v):
    output, weights = torch.zeros(len(q), q.shape[1], v.shape[2]), []
    for b in range(len(q)):
        rows = []
        for i in range(q.shape[1]):
            scores = torch.stack([(q[b, i] * key).sum() for key in k[b]]) / math.sqrt(q.shape[2])
            row = torch.exp(scores - scores.max())
            row = row / row.sum()
            output[b, i] = sum(w * value for w, value in zip(row, v[b]))
            rows.append(row)
        weights.append(torch.stack(rows))
    return output, torch.stack(weights)
""",
    """
def attention(q, k, v, mask=None):
    d = q.shape[-1]
    scores = torch.bmm(q / d ** 0.25, (k / d ** 0.25).permute(0, 2, 1))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores.double(), dim=2).float()
    return torch.bmm(weights, v), weights
""",
    """
def attention(q, k, v):
    eye = torch.eye(k.shape[-2]).expand(*k.shape[:-1], k.shape[-2])
    return F.scaled_dot_product_attention(q, k, v), F.scaled_dot_product_attention(q, k, eye)
""",
)
