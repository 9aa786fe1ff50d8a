import { text } from 'node:stream/consumers'
import { defineCode, defineCommand, defineRoute, Fault, type Static, Type } from 'sluice/plugin'
import { contextOf, forget, maxWaiting, queue } from './delivery.ts'
import type { Deps } from './deps.ts'
import { Choice, KindName, Note } from './entities.ts'
import { isAllowed } from './post.ts'

export const notAllowed = defineCode('notifier_origin_not_allowed', 422, 3)
export const noUrl = defineCode('notifier_no_url', 409, 5)

const Url = Type.String({ maxLength: 1024 })
const about = 'Kinds of notes. Without any, the URL and the waiting notes are deleted.'
const Kinds = Type.Array(KindName, { maxItems: 3, examples: [['client', 'rule']], description: about })
const State = Type.Object({
  kinds: Kinds,
  waiting: Type.Integer({ description: 'Notes that are not delivered yet.' }),
  last_result: Type.Union([Type.String(), Type.Null()])
})

const stateOf = (userId: string, { store }: Deps): Promise<Static<typeof State>> =>
  store.read(async em => {
    const choice = await em.findOne(Choice, { userId })
    const { kinds = [], lastResult = null } = choice ?? {}
    return { kinds: [...kinds], waiting: await em.count(Note, { userId }), last_result: lastResult }
  })

const show = defineRoute({
  method: 'GET',
  url: '/v1/notifier',
  action: 'notifier.show',
  access: 'self',
  summary: 'Returns the notes that the caller gets, and the state of the delivery.',
  schema: () => ({ reply: State, errors: [] }),
  run: (deps: Deps, { principal: { userId } }) => stateOf(userId, deps)
})

const choose = defineRoute({
  method: 'PUT',
  url: '/v1/notifier',
  action: 'notifier.choose',
  access: 'self',
  summary: 'Chooses the kinds of notes, and the URL that gets them. Without a URL, the stored one stays.',
  schema: () => ({
    body: Type.Object({ kinds: Kinds, url: Type.Optional(Url) }, { additionalProperties: false }),
    reply: State
  }),
  async run(deps: Deps, { body: { kinds, url }, principal: { userId }, change }) {
    const { origins } = deps.config
    if (url !== undefined && !isAllowed(url, origins))
      throw new Fault(notAllowed, `/url must be at an allowed origin: ${origins.join(', ') || 'none'}`, {
        details: { field: '/url' }
      })
    await change({ kind: 'notifier', id: userId }, async em => {
      if (kinds.length === 0) return forget(userId, em)
      const before = await em.findOne(Choice, { userId })
      const sealed = url === undefined ? before?.url : await deps.secrets.seal(url, contextOf(userId), em)
      if (!sealed) throw new Fault(noUrl, 'no URL is stored; give one as /url')
      const nextAt = before?.nextAt == null ? null : deps.clock.now()
      await em.upsert(Choice, { userId, kinds, url: sealed, tries: 0, nextAt })
    })
    await deps.delivery.wake()
    return stateOf(userId, deps)
  }
})

const test = defineRoute({
  method: 'POST',
  url: '/v1/notifier/test',
  action: 'notifier.test',
  access: 'self',
  summary: 'Sends a test note to the URL of the caller.',
  schema: () => ({ reply: State, errors: [noUrl] }),
  async run(deps: Deps, { principal: { userId }, change }) {
    const note = { event: 'test', text: 'This is a test.' }
    const why = `no URL is stored, or ${maxWaiting} notes wait; choose a URL that accepts notes`
    await change({ kind: 'notifier', id: userId }, async em => {
      if (!(await queue(userId, null, note, deps, em))) throw new Fault(noUrl, why)
    })
    return stateOf(userId, deps)
  }
})

export const routes = [show, choose, test]

const ReadUrl = Type.Boolean({ description: 'Read a URL from NOTIFIER_URL or standard input.' })

export const command = defineCommand({
  name: 'notifier choose',
  summary: 'Choose the notes that you get, and the URL that gets them.',
  examples: ['sluice notifier choose client quota --url < url.txt', 'sluice notifier choose'],
  args: Type.Object({ kinds: Type.Optional(Kinds), url: Type.Optional(ReadUrl) }),
  positional: ['kinds'],
  async run({ api, args: { kinds = [], url: isNew }, env, input, print }) {
    const url = isNew && { url: (env['NOTIFIER_URL'] ?? (await text(input))).trim() }
    print.data(await api.send<object>('PUT', '/v1/notifier', { kinds, ...url }))
  }
})
