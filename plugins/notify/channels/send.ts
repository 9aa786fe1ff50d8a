// Sends one message to a channel. Never throws: a failure is an outcome.
import type { Clock } from '../../../kernel/base/clock.ts'
import { Fault } from '../../../kernel/base/errors.ts'
import { type Channel, secretOf } from '../channel.ts'
import { plainText } from '../plain-text.ts'
import type { Outcome, Outgoing } from './outgoing.ts'
import { type HttpRequest, requestFor } from './request-for.ts'
import { sendMail } from './send-mail.ts'

export type Send = (channel: Channel, message: Outgoing, stop: AbortSignal) => Promise<Outcome>

const deadlineMs = 10_000
const maxError = 200

export function openSend({ clock }: { readonly clock: Clock }): Send {
  return async function send(channel, message, stop) {
    const timeout = new AbortController()
    const cancel = clock.after(deadlineMs, () => timeout.abort())
    const signal = AbortSignal.any([stop, timeout.signal])
    try {
      const secret = secretOf(channel)
      if (channel.type === 'smtp') {
        await sendMail(channel, { message, password: secret, signal })
        return { result: 'delivered', status: null, error: null }
      }
      return await post(requestFor(channel, { message, secret, nowMs: clock.now() }), signal)
    } catch (error) {
      if (timeout.signal.aborted) return failure(`no answer within ${deadlineMs / 1000} s`)
      if (stop.aborted) return { result: 'interrupted', status: null, error: 'the server stops' }
      return failure(describe(error))
    } finally {
      await cancel()
    }
  }
}

/** The status decides; the body of the answer is not read. */
async function post({ url, headers, body }: HttpRequest, signal: AbortSignal): Promise<Outcome> {
  const answer = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'manual' })
  await answer.body?.cancel()
  const { status } = answer
  if (status >= 200 && status < 300) return { result: 'delivered', status, error: null }
  const why = status >= 300 && status < 400 ? '; redirects are not followed' : ''
  return { result: 'failed', status, error: `response status ${status}${why}` }
}

const failure = (error: string): Outcome => ({
  result: 'failed',
  status: null,
  error: plainText(error, maxError)
})

/** Errors of fetch have their reason in the cause. Messages can contain a URL, so only codes and own faults are shown. */
function describe(error: unknown): string {
  if (error instanceof Fault) return error.message
  for (let at = error; at instanceof Error; at = at.cause) {
    const code: unknown = Reflect.get(at, 'code')
    if (typeof code === 'string' && /^[A-Z][A-Z0-9_]+$/.test(code)) return `the request failed: ${code}`
  }
  return 'the request failed'
}
