/** Limits a delay for setTimeout: beyond 2^31 - 1 ms Node fires at once. */
export const timeoutMs = (ms: number): number => Math.min(ms, 2 ** 31 - 1)
