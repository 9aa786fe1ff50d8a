// The results of a run: figures, and checks. A failed check fails the run.

export interface Report {
  figure(name: string, value: string | number): void
  /** Counts checks, and prints a failed one with its findings. */
  check(name: string, isTrue: boolean, found?: unknown): void
}

export function openReport() {
  let failed = 0
  let checked = 0
  const say = (line: string): void => void process.stdout.write(`${line}\n`)
  return {
    say,
    figure: (name: string, value: string | number): void => say(`  ${name}: ${value}`),
    check(name: string, isTrue: boolean, found?: unknown): void {
      checked += 1
      if (!isTrue) failed += 1
      const what = isTrue || found === undefined ? '' : `\n      ${JSON.stringify(found)?.slice(0, 2_000)}`
      say(`  ${isTrue ? 'ok    ' : 'NOT OK'} ${name}${what}`)
    },
    counts: () => ({ checked, failed })
  }
}

/** Prints percentiles of waits, in ms. */
export function spread(waits: readonly number[]): string {
  const sorted = waits.toSorted((a, b) => a - b)
  const at = (share: number): string =>
    (sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? 0).toFixed(0)
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, max ${at(1)} ms, of ${sorted.length}`
}
