const limitMs = 30_000 // much longer than an operation may take

/** Polls until the condition holds. Throws an error with `what` and the details on timeout. */
export async function waitUntil(
  what: string,
  condition: () => boolean,
  details: () => unknown = () => ''
): Promise<void> {
  const giveUpAt = performance.now() + limitMs
  while (!condition()) {
    if (performance.now() > giveUpAt)
      throw new Error(`timed out after ${limitMs} ms waiting until ${what}: ${JSON.stringify(details())}`)
    await new Promise(resolve => setTimeout(resolve, 5))
  }
}
