// Further steps of a sign-in, which a plugin adds between the right password and the session.
import t, { type Test } from 'tap'
import { defineCode, Fault } from '../../../kernel/base/errors.ts'
import { definePlugin } from '../../../kernel/plugin.ts'
import type { TestServerOptions } from '../../../kit/test-server.ts'
import { type SignInStep, stepSlot } from '../exports.ts'
import { addUser, login, onboardedServer, refusalOf, root, unauthenticated } from './fixture.ts'

const pinLocked = defineCode('pin_locked', 401, 4)

interface Ticketed {
  readonly error: {
    readonly code: string
    readonly message: string
    readonly details: { readonly ticket: string; readonly step: string; readonly methods: readonly string[] }
  }
}

/** A step that demands the answer 'right' of ann; its method `lost` is refused with the plugin's own code. */
const step = (more: Partial<SignInStep> = {}): SignInStep => ({
  name: 'pin',
  prompts: { pin: { en: 'Your PIN' }, lost: { en: 'Your new PIN', de: 'Deine neue PIN' } },
  errors: [pinLocked],
  demand: async ({ userId }) => (userId === 'ann' ? { methods: ['pin', 'lost'] } : null),
  async verify({ method, answer }) {
    if (method === 'lost') throw new Fault(pinLocked, 'this PIN is locked; ask an administrator')
    return answer === 'right'
  },
  ...more
})

const pluginWith = (...steps: readonly SignInStep[]) =>
  definePlugin({
    name: 'pin',
    version: '1.0.0',
    kernel: '^2.0.0',
    needs: { auth: '^1.0.0' },
    codes: [pinLocked],
    fills: steps.map(one => stepSlot.fill(one))
  })

async function serverWith(t: Test, steps: readonly SignInStep[], options: TestServerOptions = {}) {
  const app = await onboardedServer(t, {
    plugins: ['users', 'auth', 'audit', 'credentials', pluginWith(...steps)],
    ...options
  })
  await addUser(app, 'ann')
  const ask = async (headers: Record<string, string> = {}, remoteAddr = '192.0.2.1') => {
    const { status, body } = await app.call<Ticketed>(
      'POST',
      '/v1/auth/login',
      { user_id: 'ann', password: root.password },
      { ...unauthenticated, 'x-forwarded-for': remoteAddr, ...headers }
    )
    t.equal(status, 401)
    return body.error.details
  }
  const answer = (body: object, headers: Record<string, string> = {}, remoteAddr = '192.0.2.1') =>
    app.call<Ticketed>('POST', '/v1/auth/step', body, {
      ...unauthenticated,
      'x-forwarded-for': remoteAddr,
      ...headers
    })
  const entries = async (limit: number) => (await app.call('GET', `/v1/audit?limit=${limit}`)).body
  return { ...app, app, ask, answer, entries }
}

t.test('a demanded step opens the session with the right answer, once', async t => {
  const { app, ask, answer, entries, log } = await serverWith(t, [step()])
  t.equal((await login(app)).status, 200, 'a user of whom nothing is demanded signs in as before')

  const details = await ask()
  t.match(details, {
    step: 'pin',
    methods: ['pin', 'lost'],
    prompts: { pin: { en: 'Your PIN', de: 'Your PIN' } }
  })
  t.match(await entries(1), [
    { action: 'auth.login', actor: null, resource_id: 'ann', outcome: 'deny', reason: 'step_required' }
  ])

  const { ticket } = details
  const opened = await answer({ ticket, answer: 'right' })
  t.match(opened, { status: 200, body: { password_change_required: false } })
  const cookie = String(opened.headers['set-cookie']).split(';', 1)[0] ?? ''
  t.match(await app.call('GET', '/v1/users/me', undefined, { ...unauthenticated, cookie }), {
    body: { user_id: 'ann' }
  })
  t.match(await entries(1), [{ action: 'auth.step', resource_id: 'ann', outcome: 'allow' }])
  t.match(await answer({ ticket, answer: 'right' }), {
    status: 401,
    body: { error: { code: 'step_expired' } }
  })
  t.notMatch(JSON.stringify(log), ticket, 'no log line has the ticket')
})

t.test('a wrong answer is refused, counted and recorded with the user, five times a ticket', async t => {
  const { ask, answer, entries } = await serverWith(t, [step()])
  const { ticket } = await ask()
  for (let i = 0; i < 5; i++)
    t.match(await answer({ ticket, answer: 'wrong' }), {
      status: 401,
      body: { error: { code: 'step_failed' } }
    })
  t.match(await entries(1), [
    { action: 'auth.step', resource_id: 'ann', outcome: 'deny', reason: 'step_failed' }
  ])
  t.match(await answer({ ticket, answer: 'right' }), { status: 429 }, 'the address is locked')
  t.match(await entries(1), [{ resource_id: 'ann', reason: 'rate_limited' }])
  t.match(
    await answer({ ticket, answer: 'right' }, {}, '198.51.100.1'),
    { status: 401, body: { error: { code: 'step_expired' } } },
    'elsewhere the ticket is used up'
  )
})

t.test('wrong answers from many addresses lock the step of the user, not the password', async t => {
  const { app, ask, answer } = await serverWith(t, [step()])
  for (let i = 0; i < 15; i++) {
    const address = `198.51.100.${i}`
    const { ticket } = await ask({}, address)
    t.equal((await answer({ ticket, answer: 'wrong' }, {}, address)).status, 401)
  }
  const { ticket } = await ask({}, '203.0.113.1')
  t.equal((await answer({ ticket, answer: 'right' }, {}, '203.0.113.1')).status, 429)
  await app.clock.advance(15 * 60_000)
  const later = await ask({}, '203.0.113.1')
  t.equal((await answer({ ticket: later.ticket, answer: 'right' }, {}, '203.0.113.1')).status, 200)
})

t.test("a step's own error is declared, and a 401 counts as a wrong answer", async t => {
  const { app, ask, answer, entries, log } = await serverWith(t, [step()])
  const { ticket } = await ask()
  for (let i = 0; i < 5; i++)
    t.match(await answer({ ticket, method: 'lost', answer: '' }), {
      status: 401,
      body: { error: { code: 'pin_locked' } }
    })
  t.match(await entries(1), [{ action: 'auth.step', resource_id: 'ann', reason: 'pin_locked' }])
  t.equal((await answer({ ticket, answer: 'right' })).status, 429)
  t.notOk(log.some(({ event }) => event === 'route.undeclared_error'))
  const { body } = await app.call<{ paths: object }>('GET', '/v1/openapi.json')
  const { '/v1/auth/login': inLogin, '/v1/auth/step': inStep } = body.paths as Record<string, object>
  t.match(JSON.stringify(inLogin), /pin_locked|PinLocked/)
  t.match(JSON.stringify(inStep), /pin_locked|PinLocked/)
  t.equal((await answer({ ticket, method: 'other', answer: '' })).status, 400)
})

t.test('several steps follow each other, each with its own ticket', async t => {
  const second = step({ name: 'badge', verify: async ({ answer }) => answer === 'badge' })
  const { ask, answer } = await serverWith(t, [step(), second])
  const first = await ask()
  const next = await answer({ ticket: first.ticket, answer: 'right' })
  t.match(next, { status: 401, body: { error: { code: 'step_required', details: { step: 'badge' } } } })
  t.equal((await answer({ ticket: first.ticket, answer: 'right' })).status, 401, 'the first ticket is spent')
  t.equal((await answer({ ticket: next.body.error.details.ticket, answer: 'badge' })).status, 200)
})

t.test('a ticket needs the session key of its login', async t => {
  const { ask, answer } = await serverWith(t, [step()])
  const key = { 'x-svc-session-key': 'a'.repeat(43) }
  const { ticket } = await ask(key)
  const expired = { status: 401, body: { error: { code: 'step_expired' } } }
  t.match(await answer({ ticket, answer: 'right' }), expired)
  t.match(await answer({ ticket, answer: 'right' }, { 'x-svc-session-key': 'b'.repeat(43) }), expired)
  t.equal((await answer({ ticket, answer: 'right' }, key)).status, 200)
})

t.test('a ticket ends after five minutes, and when the password is reset', async t => {
  const { app, ask, answer } = await serverWith(t, [step()])
  const expired = { status: 401, body: { error: { code: 'step_expired' } } }
  const old = await ask()
  await app.clock.advance(5 * 60_000)
  t.match(await answer({ ticket: old.ticket, answer: 'right' }), expired)

  const before = await ask()
  const reset = { new_password: 'a battery that staples horses', temporary: false }
  const { status, text } = await app.call('POST', '/v1/users/ann/password', reset)
  t.equal(status, 200, text)
  t.match(await answer({ ticket: before.ticket, answer: 'right' }), expired)
})

t.test('a user who was disabled during the step gets no session', async t => {
  const { app, ask, answer } = await serverWith(t, [step()])
  const { ticket } = await ask()
  t.equal((await app.call('PATCH', '/v1/users/ann', { disabled: true })).status, 200)
  t.equal((await answer({ ticket, answer: 'right' })).status, 401)
})

t.test('a ticket stays valid over a restart', async t => {
  const { app, ask, answer } = await serverWith(t, [step()])
  const { ticket } = await ask()
  await app.restart()
  t.equal((await answer({ ticket, answer: 'right' })).status, 200)
})

t.test('others with the same password do not end the ticket of the user', async t => {
  const { ask, answer } = await serverWith(t, [step()])
  const { ticket } = await ask()
  for (let i = 0; i < 25; i++) await ask({}, '203.0.113.9')
  t.equal((await answer({ ticket, answer: 'right' })).status, 200)
})

t.test('a step with a wrong name stops the start and names the slot', async t => {
  const plugins = ['users', 'auth', 'credentials', pluginWith(step({ name: 'My Step' }))]
  const refusal = await refusalOf(onboardedServer(t, { plugins }))
  t.match(refusal, { message: /auth\.step: the name "My Step" must be kebab-case/ })
})
