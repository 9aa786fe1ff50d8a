// Sends one message to a channel. Never throws: a failure is an outcome.
import type { Clock } from '../../../kernel/base/clock.ts'
import { Fault } from '../../../kernel/base/errors.ts'
import { currentTrace } from '../../../kernel/base/trace.ts'
import { type FindTracer, fetchFailure } from '../../http/exports.ts'
import { type Channel, secretOf } from '../channel.ts'
import { plainText } from '../plain-text.ts'
import type { Outcome, Outgoing } from './outgoing.ts'
import { type HttpRequest, requestFor } from './request-for.ts'
import { sendMail } from './send-mail.ts'

export type Send = (channel: Channel, message: Outgoing, stop: AbortSignal) => Promise<Outcome>

const deadlineMs = 10_000
const maxError = 200

interface Deps {
  readonly clock: Clock
  readonly findTracer: FindTracer
}

export function openSend({ clock, findTracer }: Deps): Send {
  async function attempt(channel: Channel, message: Outgoing, stop: AbortSignal): Promise<Outcome> {
    const timeout = new AbortController()
    const cancel = clock.after(deadlineMs, () => timeout.abort())
    const signal = AbortSignal.any([stop, timeout.signal])
    try {
      const secret = secretOf(channel)
      if (channel.type === 'smtp') {
        await sendMail(channel, { message, password: secret, signal })
        return { result: 'delivered', status: null, error: null }
      }
      const { traceparent = null } = currentTrace.getStore() ?? {}
      return await post(requestFor(channel, { message, secret, nowMs: clock.now(), traceparent }), signal)
    } catch (error) {
      if (timeout.signal.aborted) return failure(`no answer within ${deadlineMs / 1000} s`)
      if (stop.aborted) return { result: 'interrupted', status: null, error: 'the server stops' }
      return failure(describe(error))
    } finally {
      await cancel()
    }
  }

  /** A message has a separate trace: it can be about several requests. */
  return async function send(channel, message, stop) {
    const span = findTracer()?.begin(`notification ${channel.type}`, null)
    if (!span) return attempt(channel, message, stop)
    const outcome = await currentTrace.run(span, attempt, channel, message, stop)
    const { result, status } = outcome
    span.end({
      attributes: {
        'sluice.channel': channel.name,
        'sluice.notification_id': message.id,
        ...(status !== null && { 'http.response.status_code': status }),
        ...(result !== 'delivered' && { 'error.type': result })
      }
    })
    return outcome
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

const describe = (error: unknown): string => (error instanceof Fault ? error.message : fetchFailure(error))
