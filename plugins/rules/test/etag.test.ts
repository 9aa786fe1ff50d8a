import t from 'tap'
import { loadEtags } from '../api/rule-resource.ts'
import type { Rule } from '../entities.ts'
import { rulesFixture } from './fixture.ts'

t.test('a rule without an agent gets a new ETag for a change within the same millisecond', async t => {
  const { server } = await rulesFixture(t)
  const { store, filled } = server.depsOf('rules')
  const failed = {
    id: 'r',
    updatedAt: 1,
    targets: [{ host: '10.0.0.1', port: 80, priority: 0 }]
  } as unknown as Rule
  const changed = { ...failed, targets: [{ host: '10.0.0.2', port: 81, priority: 0 }] }

  const etagOf = async (rule: Rule) =>
    (await store.read(em => loadEtags([rule], new Map(), filled, em))).get('r')

  t.equal(await etagOf(failed), await etagOf({ ...failed }))
  t.not(await etagOf(failed), await etagOf(changed))
})
