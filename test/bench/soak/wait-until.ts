const limitMs = 30_000 // much longer than an operation may take

/** Polls until the condition holds. Throws an error with `what` and the details when it does not hold in time. */
export async function waitUntil(
  what: string,
  condition: () => boolean,
  details: () => unknown = () => ''
): Promise<void> {
  const giveUpAt = performance.now() + limitMs
  while (!condition()) {
    if (performance.now() > giveUpAt)
      throw new Error(`not in ${limitMs} ms: ${what} ${JSON.stringify(details())}`)
    await new Promise(resolve => setTimeout(resolve, 5))
  }
}
