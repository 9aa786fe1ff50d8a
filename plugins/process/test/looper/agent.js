// Blocks the agent for eight seconds, when the second rule opens.
let rules = 0

export default {
  name: 'looper',
  agent: '^1.0.0',
  meters() {
    const end = performance.now() + (++rules === 2 ? 8_000 : 0)
    while (performance.now() < end);
    return []
  }
}
