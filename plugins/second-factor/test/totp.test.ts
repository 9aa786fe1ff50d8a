import t from 'tap'
import { codeAt, matchingStep, otpauthUri, stepAt, toBase32 } from '../totp.ts'

const secret = toBase32(Buffer.from('12345678901234567890'))

t.test('codes equal the vectors of RFC 6238, appendix B, for SHA-1', async t => {
  // The RFC shows eight digits; six-digit codes are their ends.
  const vectors = [
    [59, '94287082'],
    [1_111_111_109, '07081804'],
    [1_111_111_111, '14050471'],
    [1_234_567_890, '89005924'],
    [2_000_000_000, '69279037'],
    [20_000_000_000, '65353130']
  ] as const
  for (const [secs, code] of vectors)
    t.equal(codeAt(secret, stepAt(secs * 1000)), code.slice(-6), `${secs} s`)
})

t.test('secrets are written in base32 of RFC 4648 without padding', async t => {
  const vectors = [
    ['f', 'MY'],
    ['fo', 'MZXQ'],
    ['foo', 'MZXW6'],
    ['foob', 'MZXW6YQ'],
    ['fooba', 'MZXW6YTB'],
    ['foobar', 'MZXW6YTBOI']
  ] as const
  for (const [text, base32] of vectors) t.equal(toBase32(Buffer.from(text)), base32)
})

t.test('a code is accepted one step early or late, and not after a later one', async t => {
  const now = 1_111_111_111_000
  const step = stepAt(now)
  const matching = (drift: number, after = 0) =>
    matchingStep(secret, codeAt(secret, step + drift), { now, after })
  t.same(
    [-2, -1, 0, 1, 2].map(drift => matching(drift)),
    [null, step - 1, step, step + 1, null]
  )
  t.equal(matching(0, step), null, 'it was used')
  t.equal(matching(-1, step), null, 'a later one was used')
  t.equal(matching(1, step), step + 1)
  for (const text of ['', '12345', '1234567', 'abcdef', '１２３４５６', '-12345'])
    t.equal(matchingStep(secret, text, { now, after: 0 }), null, text)
})

t.test('the address for a QR code names server and user', async t => {
  const uri = new URL(otpauthUri('ABC', 'ann@sluice.test'))
  t.match(uri, { protocol: 'otpauth:', host: 'totp', pathname: '/sluice:ann%40sluice.test' })
  t.same(Object.fromEntries(uri.searchParams), {
    secret: 'ABC',
    issuer: 'sluice',
    algorithm: 'SHA1',
    digits: '6',
    period: '30'
  })
})
