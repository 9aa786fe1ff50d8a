import type { Clock } from '../../kernel/base/clock.ts'
import { fetchFailure } from '../http/exports.ts'

interface Answer {
  readonly error: string | null
  readonly isFinal: boolean // another try would not help
}

const deadlineMs = 10_000
/** Statuses that allow another try: https://opentelemetry.io/docs/specs/otlp/#failures-1. */
const retryable = [429, 502, 503, 504]

interface Options {
  readonly clock: Pick<Clock, 'after'>
  readonly cutoff: AbortSignal
}

/** Never throws. The status decides; the body of the answer is not read. Redirects are not followed. */
export async function postSpans(url: URL, body: string, { clock, cutoff }: Options): Promise<Answer> {
  const timeout = new AbortController()
  const cancel = clock.after(deadlineMs, () => timeout.abort())
  try {
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
      signal: AbortSignal.any([timeout.signal, cutoff]),
      redirect: 'manual'
    })
    await answer.body?.cancel()
    const { ok, status } = answer
    return { error: ok ? null : `response status ${status}`, isFinal: !retryable.includes(status) }
  } catch (error) {
    const isLate = timeout.signal.aborted || cutoff.aborted
    const failure = isLate ? 'no answer in time' : fetchFailure(error)
    return { error: failure, isFinal: false }
  } finally {
    await cancel()
  }
}
