import { once } from 'node:events'
import { request } from 'node:http'
import { json } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { Type } from 'typebox'
import { defineRoute } from '../../../kernel/http/route.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { httpFixture, portOf, superadmin, user } from './fixture.ts'

const kib = 1024
const large = JSON.stringify('a'.repeat(100 * kib))

/** A server with a route for large bodies. Its handler waits for `finish`. */
async function openServer(t: Test) {
  const running: PromiseWithResolvers<void>[] = []
  const changed = new EventTarget()
  const route = defineRoute({
    method: 'POST',
    url: '/v1/lists',
    action: 'list.set',
    access: 'user',
    status: 200,
    summary: 'Runs.',
    bodyBytes: 256 * kib,
    schema: () => ({ body: Type.String(), reply: Type.Object({}) }),
    async run(_deps: Kernel) {
      const work = Promise.withResolvers<void>()
      running.push(work)
      changed.dispatchEvent(new Event('running'))
      await work.promise
      return {}
    }
  })
  const { http, clock } = await httpFixture(t, { routes: [route] })
  const port = await portOf(http)
  t.teardown(() => running.forEach(({ resolve }) => void resolve()))
  /** Sends a request. `arrived` resolves when the server has its headers; `answer` has its status and code. */
  const send = (caller: object, body: string, headers: object = {}) => {
    const sent = request({ port, path: '/v1/lists', method: 'POST', headers: { ...caller, ...headers } })
    sent.setHeader('content-type', 'application/json')
    t.teardown(() => sent.destroy())
    const arrived = once(http.app.server, 'request')
    const answer = once(sent, 'response').then(async ([response]) => {
      const { error } = (await json(response)) as { readonly error?: { readonly code: string } }
      return [response.statusCode, error?.code]
    })
    answer.catch(() => {}) // of a request that the test ends
    sent.end(body)
    return { sent, arrived, answer }
  }
  return {
    clock,
    send,
    async untilRunning(count: number) {
      while (running.length < count) await once(changed, 'running')
    },
    /** Returns how many large bodies are in work, after that of another user. One that waits for nothing would be, too. */
    async largeAfterAnother() {
      const before = running.length
      const { answer } = send(superadmin, large)
      while (running.length === before) await once(changed, 'running')
      running.pop()?.resolve()
      await answer
      return running.length
    },
    finish: () => running.shift()?.resolve()
  }
}

t.test('a third large body of a user is read when one of two is answered', async t => {
  const { send, untilRunning, largeAfterAnother, finish } = await openServer(t)
  send(user, large)
  send(user, large)
  await untilRunning(2)

  const third = send(user, large)

  await third.arrived
  t.equal(await largeAfterAnother(), 2)
  finish()
  await untilRunning(2) // the second and the third
  finish()
  finish()
  t.same(await third.answer, [200, undefined])
})

t.test('two large bodies of a user delay no other user, and no small body', async t => {
  const { send, untilRunning } = await openServer(t)
  send(user, large)
  send(user, large)
  await untilRunning(2)
  send(user, large)

  send(superadmin, large)
  send(user, '"small"')

  await untilRunning(4)
})

t.test('a body without a length counts as a large one', async t => {
  const { send, untilRunning, largeAfterAnother } = await openServer(t)
  const chunked = { 'transfer-encoding': 'chunked' }
  send(user, '"small"', chunked)
  send(user, '"small"', chunked)
  await untilRunning(2)

  const third = send(user, '"small"', chunked)

  await third.arrived
  t.equal(await largeAfterAnother(), 2)
})

t.test('a large body that has waited for 15 s is refused', async t => {
  const { clock, send, untilRunning, largeAfterAnother } = await openServer(t)
  send(user, large)
  send(user, large)
  await untilRunning(2)
  const third = send(user, large)
  await third.arrived
  t.equal(await largeAfterAnother(), 2)

  await clock.advance(15_000)

  t.same(await third.answer, [429, 'rate_limited'])
})

t.test('a caller that disconnects gives up its place for a large body', async t => {
  const { send, untilRunning, largeAfterAnother } = await openServer(t)
  const first = send(user, large)
  send(user, large)
  await untilRunning(2)
  const third = send(user, large)
  await third.arrived
  t.equal(await largeAfterAnother(), 2)
  third.sent.destroy()

  send(user, large)
  first.sent.destroy()

  await untilRunning(3) // also the first; its caller is gone
})

t.test('a body beyond the limit of its route is refused although two are in work', async t => {
  const { send, untilRunning } = await openServer(t)
  send(user, large)
  send(user, large)
  await untilRunning(2)

  const { answer } = send(user, JSON.stringify('a'.repeat(300 * kib)))

  t.same(await answer, [413, 'body_too_large'])
})
