import t from 'tap'
import { covers, parsePattern } from '../pattern.ts'

t.test('a name is stored in lower case and without its trailing dot', async t => {
  for (const [given, kept] of [
    ['Web.Example', 'web.example'],
    ['web.example.', 'web.example'],
    ['*.Example.org', '*.example.org'],
    ['localhost', 'localhost'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
    ['_sip.a-b.example', '_sip.a-b.example'],
    [`${'a'.repeat(63)}.example`, `${'a'.repeat(63)}.example`],
    [`${'a.'.repeat(126)}a`, `${'a.'.repeat(126)}a`]
  ] as const)
    t.equal(parsePattern(given), kept)
})

t.test('an invalid pattern is refused', async t => {
  for (const given of [
    '',
    '.',
    '*',
    '*.',
    '*.org',
    '*.org.',
    'a.*.org',
    '*.*.org',
    'a*.example.org',
    '**.example.org',
    '*example.org',
    'a..b',
    '.a.b',
    'a b',
    'bücher.example',
    '-a.example',
    'a-.example',
    'a.example:443',
    '10.0.0.1',
    '10.0.0.0x1',
    '::1',
    `${'a'.repeat(64)}.example`,
    `${'a.'.repeat(127)}a`
  ])
    t.throws(() => parsePattern(given), { name: 'Fault', message: /^\/sni_pattern/ }, given)
})

t.test('a wildcard covers one label', async t => {
  t.ok(covers('*.example.org', 'a.example.org'))
  for (const name of ['example.org', 'a.b.example.org', 'a.example.com', 'xexample.org', '*.a.example.org'])
    t.notOk(covers('*.example.org', name), name)
  t.notOk(covers('a.example.org', 'a.example.org'), 'only a wildcard covers')
})
