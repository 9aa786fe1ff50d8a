import t from 'tap'
import { Fault } from '../../../kernel/base/errors.ts'
import { normalizeAddress, normalizeName } from '../name-and-address.ts'

const codeOf = (work: () => unknown): string | null => {
  try {
    work()
    return null
  } catch (error) {
    if (error instanceof Fault) return error.errorCode.code
    throw error
  }
}

t.test('a name is trimmed and otherwise unchanged', async t => {
  for (const [given, kept] of [
    ['edge', 'edge'],
    ['  Köln edge 7\t', 'Köln edge 7'],
    ['x'.repeat(255), 'x'.repeat(255)],
    ['01ARZ3NDEKTSV4RRFFQ69G5FA', '01ARZ3NDEKTSV4RRFFQ69G5FA'],
    ['🚪 gate', '🚪 gate']
  ] as const)
    t.equal(normalizeName(given), kept)
})

t.test('a client cannot have a name that means all clients, the caller, a list or the operator', async t => {
  for (const name of ['*', ' * ', '-', 'all', 'ALL', 'me', '@list', '_operator', '_'])
    t.equal(
      codeOf(() => normalizeName(name)),
      'invalid_client_name',
      name
    )
  for (const name of ['**', 'a*', '--', 'allied', 'me2', 'a@b', 'a_b']) t.equal(normalizeName(name), name)
})

t.test('a name that is empty, too long, has control characters or the form of an id is refused', async t => {
  for (const name of [
    '',
    '   ',
    'x'.repeat(256),
    'é'.repeat(128),
    'a\u0000b',
    'a\nb',
    'a\u001b[2Jb',
    'a\u0085b',
    'a\u202eb',
    'a\u2066b',
    'a\ud800b',
    '01ARZ3NDEKTSV4RRFFQ69G5FAV',
    '01arz3ndektsv4rrffq69g5fav'
  ])
    t.equal(
      codeOf(() => normalizeName(name)),
      'invalid_client_name',
      JSON.stringify(name)
    )
})

t.test('an address is a bare DNS name or IP address, or none', async t => {
  for (const address of [
    null,
    'edge.example.com',
    'edge.example.com.',
    'localhost',
    'xn--kln-sna.example',
    'my_edge.example',
    '192.0.2.7',
    '2001:db8::7',
    '::ffff:192.0.2.7'
  ])
    t.equal(normalizeAddress(address), address)
})

t.test('an address with a port, a scheme, brackets, a zone or a broken label is refused', async t => {
  for (const address of [
    '',
    'edge.example.com:443',
    '192.0.2.7:443',
    '[2001:db8::7]',
    '[2001:db8::7]:443',
    'fe80::1%eth0',
    'https://edge.example.com',
    'edge.example.com/x',
    'edge example',
    ' edge',
    '-edge.example',
    'edge-.example',
    'a..b',
    '.',
    '192.0.2',
    '192.0.2.256',
    'köln.example',
    '*.example.com',
    `${'a'.repeat(64)}.example`,
    `${'a.'.repeat(127)}ab`
  ])
    t.equal(
      codeOf(() => normalizeAddress(address)),
      'invalid_client_address',
      JSON.stringify(address)
    )
})
