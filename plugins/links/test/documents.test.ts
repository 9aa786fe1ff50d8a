// Endpoints and links in the document of `apply`.
import t from 'tap'
import { openDocumentContext } from '../../apply/document-context.ts'
import { makePlan } from '../../apply/plan.ts'
import { apiOf, filled } from '../../apply/test/apply-fixture.ts'
import { linksFixture } from './fixture.ts'

t.test('apply sets endpoints and settings of links by names, and --prune restores the defaults', async t => {
  const { app, edge, rule, list } = await linksFixture(t)
  const [entry, exit] = [await edge('entry'), await edge('exit')]
  const context = await openDocumentContext({ api: apiOf(app as never), filled })
  const run = async (document: Parameters<typeof makePlan>[0], prune: 'prune' | 'keep' = 'keep') => {
    const { steps } = await makePlan(document, prune, context)
    for (const step of steps) await step.run()
    return steps.map(({ verb, label }) => `${verb} ${label}`)
  }
  const endpoints = { link_endpoints: [{ client: 'entry', hosts: ['entry.example'] }] }

  t.same(await run(endpoints), ['create link endpoint entry'])
  t.same(await run(endpoints), [])
  t.same(await run({ link_endpoints: [{ client: 'entry', port: 7500 }] }), ['change link endpoint entry'])
  const { body } = await app.call('GET', `/v1/clients/${entry.id}`)
  t.match(body, { link: { port: 7500, hosts: null } })

  await rule(entry.id, [exit.id])
  t.same(await run({ links: [] }, 'prune'), [], 'a link with default settings is not removed')
  const links = {
    links: [{ entry: 'entry', exit: 'exit', direction: 'reverse', udp: false, labels: { env: 'prod' } }]
  }
  t.same(await run(links), ['change link entry/exit'])
  t.match(await list(), [{ direction: 'reverse', udp_wanted: false, labels: { env: 'prod' } }])
  t.same(await run(links), [])
  t.same(await run({ links: [] }, 'prune'), ['delete link entry/exit'])
  t.match(await list(), [{ direction: 'auto', udp_wanted: true, labels: {} }])
  t.same(await run({ link_endpoints: [] }, 'prune'), ['delete link endpoint entry'])
})

t.test('the document is checked before anything is changed', async t => {
  const { app, edge } = await linksFixture(t)
  await edge('entry')
  const context = await openDocumentContext({ api: apiOf(app as never), filled })
  await t.rejects(makePlan({ link_endpoints: [{ client: 'entry', hosts: ['a:1'] }] }, 'keep', context), {
    errorCode: { code: 'validation.link' },
    message: /link_endpoints\[0\]/
  })
  await t.rejects(makePlan({ links: [{ entry: 'entry', exit: 'nobody' }] }, 'keep', context), {
    message: /nobody/
  })
})
