import t from 'tap'
import { insertClient, testServer } from '../../../kit/test-server.ts'

const url = '/v1/settings/advertised-endpoint'

t.test('without override and seed the endpoint is loopback and the control port in use', async t => {
  const { call, server } = await testServer(t, { plugins: ['advertised-endpoint'] })

  t.strictSame((await call('GET', url)).body, {
    override: null,
    effective: `127.0.0.1:${server.control.port()}`,
    endpoints: [`127.0.0.1:${server.control.port()}`],
    source: 'loopback',
    diagnostic: null
  })
})

t.test('an override takes precedence over the seed, and null or an empty string clears it', async t => {
  const keys = { advertised_endpoint: 'gate.example:7443' }
  const { call, decisions } = await testServer(t, { plugins: ['advertised-endpoint'], keys })
  const seed = {
    override: null,
    effective: 'gate.example:7443',
    endpoints: ['gate.example:7443'],
    source: 'seed',
    diagnostic: null
  }

  t.strictSame((await call('GET', url)).body, seed)
  const set = await call('PUT', url, { advertised_endpoint: 'localhost:1234' })
  t.strictSame(
    [set.status, set.body],
    [
      200,
      {
        override: 'localhost:1234',
        effective: 'localhost:1234',
        endpoints: ['localhost:1234'],
        source: 'override',
        diagnostic: null
      }
    ]
  )
  t.strictSame((await call('PUT', url, { ...set.body, advertised_endpoint: null })).body, seed)
  await call('PUT', url, { advertised_endpoint: 'localhost:1234' })
  t.strictSame((await call('PUT', url, { advertised_endpoint: '' })).body, seed)
  t.match(decisions[0], {
    action: 'settings.update',
    resourceKind: 'settings',
    resourceId: 'advertised-endpoint'
  })
})

t.test('an override that agents could not use is refused, and the previous one remains', async t => {
  const server = await testServer(t, { plugins: ['advertised-endpoint', 'clients'] })
  const { call } = server
  await insertClient(server, 'paris') // pins the certificate
  await call('PUT', url, { advertised_endpoint: 'localhost:1' })

  t.match(await call('PUT', url, { advertised_endpoint: 'gate.example' }), {
    status: 422,
    body: { error: { code: 'endpoint_invalid' } }
  })
  t.match(await call('PUT', url, { advertised_endpoint: 'gate.example:7443' }), {
    status: 422,
    body: { error: { code: 'endpoint_not_in_cert_san' } }
  })
  t.match(await call('PUT', url, {}), { status: 400 })
  t.match(await call('GET', url), { body: { override: 'localhost:1', effective: 'localhost:1' } })
})

t.test(
  'a seed that the certificate does not cover is not used while clients pin it, and a warning is logged at start',
  async t => {
    const first = await testServer(t, { plugins: ['advertised-endpoint', 'clients'] })
    await insertClient(first, 'paris')
    await first.stop()

    const keys = { advertised_endpoint: 'late.example:7443' }
    const { call, log } = await testServer(t, { plugins: ['advertised-endpoint'], keys, dir: first.dir })

    t.match(await call('GET', url), {
      status: 200,
      body: { override: null, effective: null, source: null, diagnostic: /^endpoint_not_in_cert_san: / }
    })
    t.match(
      log.filter(({ event }) => event === 'endpoint.unusable'),
      [{ level: 'warn', fields: { code: 'endpoint_not_in_cert_san' } }]
    )
    t.match(await call('PUT', url, { advertised_endpoint: 'localhost:9' }), { body: { source: 'override' } })
  }
)

const spaces = [
  ' ',
  '\t',
  '\n',
  '\r\n',
  '\v',
  '\f',
  '\u00a0',
  '\u1680',
  '\u2003',
  '\u2028',
  '\u3000',
  '\ufeff',
  '\u200b'
]

t.test('an endpoint with white space around it is refused, not trimmed', async t => {
  const { call } = await testServer(t, { plugins: ['advertised-endpoint'] })
  await call('PUT', url, { advertised_endpoint: 'localhost:1' })

  for (const space of spaces)
    for (const advertised_endpoint of [
      `${space}localhost:2`,
      `localhost:2${space}`,
      `localhost${space}:2`,
      `localhost:${space}2`,
      `localhost:2,${space}localhost:3`,
      `localhost:2${space},localhost:3`,
      [`localhost:2`, `${space}localhost:3`],
      [`localhost:2${space}`],
      space,
      [space]
    ])
      t.match(
        await call('PUT', url, { advertised_endpoint }),
        { status: 422, body: { error: { code: 'endpoint_invalid' } } },
        encodeURIComponent(String(advertised_endpoint))
      )
  for (const advertised_endpoint of [
    'localhost:2,',
    ',localhost:2',
    'localhost:2,,localhost:3',
    [''],
    ['localhost:2', '']
  ])
    t.match(
      await call('PUT', url, { advertised_endpoint }),
      { status: 422 },
      JSON.stringify(advertised_endpoint)
    )
  t.match((await call('GET', url)).body, { override: 'localhost:1', effective: 'localhost:1' })
})

t.test('a server does not start with a configured endpoint that no agent could use', async t => {
  for (const advertised_endpoint of [
    ' localhost:7443',
    'localhost:7443\n',
    'one.example:7443, two.example:7443',
    ['localhost:7443', '\u00a0localhost:7444'],
    'localhost',
    'localhost:70000',
    'https://localhost:7443'
  ])
    await t.rejects(
      testServer(t, { plugins: ['advertised-endpoint'], keys: { advertised_endpoint }, dir: t.testdir({}) }),
      {
        errorCode: { code: 'startup.config_invalid' },
        message: /advertised_endpoint must be host:port .* without white space/
      },
      JSON.stringify(advertised_endpoint)
    )
})

t.test('several endpoints are set as a list or as text, and agents must be able to use each', async t => {
  const keys = { advertised_endpoint: ['one.example:7443', 'two.example:7443'] }
  const server = await testServer(t, { plugins: ['advertised-endpoint', 'clients'], keys })
  const { call } = server
  await insertClient(server, 'paris') // pins the certificate

  t.match((await call('GET', url)).body, {
    effective: 'one.example:7443',
    endpoints: ['one.example:7443', 'two.example:7443'],
    source: 'seed'
  })
  t.match(
    (await call('PUT', url, { advertised_endpoint: ['localhost:1', 'localhost:2', 'localhost:1'] })).body,
    {
      override: 'localhost:1,localhost:2',
      effective: 'localhost:1',
      endpoints: ['localhost:1', 'localhost:2']
    }
  )
  t.match((await call('PUT', url, { advertised_endpoint: 'localhost:3,localhost:4' })).body, {
    override: 'localhost:3,localhost:4'
  })
  t.match(await call('PUT', url, { advertised_endpoint: ['localhost:1', 'gate.example:7443'] }), {
    status: 422,
    body: { error: { code: 'endpoint_not_in_cert_san', message: /gate\.example/ } }
  })
  const many = Array.from({ length: 30 }, (_, i) => `localhost:${10_000 + i}`)
  t.match(await call('PUT', url, { advertised_endpoint: many }), {
    status: 422,
    body: { error: { code: 'endpoint_invalid', message: /255/ } }
  })
  t.match((await call('GET', url)).body, { override: 'localhost:3,localhost:4' })
  t.match((await call('PUT', url, { advertised_endpoint: [] })).body, { source: 'seed' })
})
