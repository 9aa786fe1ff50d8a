const limitMs = 30_000 // held and refused connections end long before

/** Looks until it is so; what is not so in time is an error that names it. */
export async function settled(
  what: string,
  isSo: () => boolean,
  told: () => unknown = () => ''
): Promise<void> {
  const until = performance.now() + limitMs
  while (!isSo()) {
    if (performance.now() > until) throw new Error(`not in ${limitMs} ms: ${what} ${JSON.stringify(told())}`)
    await new Promise(resolve => setTimeout(resolve, 5))
  }
}
