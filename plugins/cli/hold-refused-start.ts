import type { ErrorCode } from '../../kernel/base/errors.ts'

/** Exit codes of a start that fails again until somebody acts: usage, a refused token, an invalid configuration. */
const finalCodes: readonly number[] = [2, 4, 78]

/**
 * Waits for SIGTERM after a refused start: a supervisor that restarts at every exit, such as Docker, would repeat it for ever.
 * Health checks fail in this time.
 */
export async function holdRefusedStart(words: readonly string[], { exit, code }: ErrorCode): Promise<void> {
  const isService = words[0] === 'server' || words.join(' ') === 'agent run'
  if (!isService || !finalCodes.includes(exit)) return
  if (process.env['SVC_HOLD_REFUSED_START'] !== 'true') {
    process.stderr.write('SVC_HOLD_REFUSED_START must be true or false; this process does not wait\n')
    return
  }
  const { promise, resolve } = Promise.withResolvers<void>()
  const keepAlive = setInterval(() => {}, 2 ** 30)
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve())
  process.stderr.write(
    `${code}: a restart would fail again, so this process waits for SIGTERM (SVC_HOLD_REFUSED_START)\n`
  )
  await promise
  clearInterval(keepAlive)
}
