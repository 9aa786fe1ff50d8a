// HAProxy, both header parsers and both engines give the same verdicts. PROXY_HEADERS: the number of generated headers.
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect, isIP, type Socket } from 'node:net'
import { join } from 'node:path'
import { setImmediate, setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { canonicalAddress, familyOf } from '../../../agent/net/address.ts'
import { openPortableEngine } from '../../../agent/portable-engine/portable-engine.ts'
import { maxProxyHeaderBytes } from '../../../agent/portable-engine/proxy-header.ts'
import { proxied } from '../../../test/engine/cases/first-read.ts'
import { echo, engineFixture, openTarget, ruleTo } from '../../../test/engine/engine-fixture.ts'
import { generateHeaders } from '../../../test/engine/generated-headers.ts'
import { compileJudge, judgeInTypeScript } from '../../../test/engine/header-judges.ts'
import { nativeUnderTest } from '../../../test/engine/native-under-test.ts'
import { proxyV1 } from '../../../test/engine/preambles.ts'
import { headerCases } from '../../../test/engine/proxy-headers.ts'
import { spawnChild } from '../../../test/support/child-process.ts'
import { freePort } from '../../../test/support/ports.ts'
import { missing } from './proxies.ts'

const generated = Number(process.env['PROXY_HEADERS'] ?? 10_000)
const bytewise = Math.ceil(generated / 100) // for engines, with one segment per byte
const batchSize = 20_000

interface Judged {
  readonly bytes: Buffer
  readonly expected: string
  readonly found: string
}

function* headers(count: number): Generator<Buffer> {
  for (const { bytes } of Object.values(headerCases)) yield bytes
  yield* generateHeaders(count)
}

/** Starts HAProxy on a port. It answers each header with its meaning as a line of version 1, which the target echoes. */
async function startHaproxy(t: Test): Promise<number> {
  const port = await freePort()
  const target = await openTarget(t, echo)
  const file = join(t.testdir(), 'haproxy.cfg')
  writeFileSync(
    file,
    `defaults
  mode tcp
  timeout connect 10s
  timeout client 30s
  timeout server 30s
listen judge
  bind 127.0.0.1:${port} accept-proxy
  server target 127.0.0.1:${target} send-proxy
`
  )
  const program = spawnChild('haproxy', ['-db', '-f', file], { stdio: 'inherit' })
  t.teardown(async () => {
    const ended = once(program, 'exit')
    program.kill('SIGKILL')
    await ended
  })
  const isOpen = async () => (await askHaproxy(port, Buffer.from('PROXY UNKNOWN\r\n'))).startsWith('own')
  while (!(await isOpen().catch(() => false))) await setTimeout(50)
  return port
}

const askHaproxy = (port: number, header: Buffer): Promise<string> =>
  ask(port, async socket => {
    if (header.length === 0) return void socket.end()
    // HAProxy drops its connection to the target if the caller ends while it is being opened.
    socket.once('data', () => socket.end()).write(header)
  })

const askBytewise = (port: number, header: Buffer): Promise<string> =>
  ask(port, async socket => {
    socket.setNoDelay()
    for (const byte of header) {
      if (!socket.destroyed) socket.write(Buffer.of(byte))
      await setImmediate()
    }
    socket.end()
  })

/** Returns the content of the version 1 line in the answer, and the number of bytes after it; 'refused' without a line. */
async function ask(port: number, send: (socket: Socket) => Promise<void>): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1' }).setEncoding('latin1')
  let received = ''
  socket.on('data', text => {
    received += text
  })
  const closed = new Promise<NodeJS.ErrnoException | null>(resolve =>
    socket.once('error', resolve).once('close', () => resolve(null))
  )
  await Promise.race([once(socket, 'connect'), closed])
  const own = `127.0.0.1 ${socket.localPort}`
  await send(socket)
  const error = await closed
  if (error && !['ECONNRESET', 'EPIPE'].includes(error.code ?? '')) throw error // no verdict

  const end = received.indexOf('\r\n')
  if (end < 0) return 'refused'
  const [, , source = '', destination = '', sourcePort, destinationPort] = received.slice(0, end).split(' ')
  const caller = `${canonicalAddress(source)} ${sourcePort}`
  const rest = `${received.length - end - 2} bytes`
  if (caller === own) return `own, and ${rest}`
  return `${caller} ${canonicalAddress(destination)} ${destinationPort}, and ${rest}`
}

/** Returns the result of `ask` that a parser's verdict implies. */
function expectedAnswer(line: string, header: Buffer): string {
  const [kind, size, ...addresses] = line.split(' ')
  const rest = `${header.length - Number(size)} bytes`
  if (kind === 'unnamed') return `own, and ${rest}`
  return kind === 'named' ? `${addresses.join(' ')}, and ${rest}` : 'refused'
}

/** Asks about all headers, `atOnce` at a time, and returns the answers that differ from the parser's. */
async function askAll(
  all: Iterator<Buffer>,
  atOnce: number,
  find: (header: Buffer) => Promise<string>
): Promise<Judged[]> {
  const left = Iterator.from(all)
  const differing: Judged[] = []
  const askSome = async () => {
    for (const bytes of left) {
      const expected = expectedAnswer(judgeInTypeScript(bytes), bytes)
      const found = await find(bytes)
      if (found !== expected) differing.push({ bytes, expected, found })
    }
  }
  await Promise.all(Array.from({ length: atOnce }, askSome))
  return differing
}

const shown = ({ bytes, ...answers }: Judged) => ({ header: bytes.toString('latin1'), ...answers })

/** True for an intended difference. */
function isKnown({ bytes, expected, found }: Judged): boolean {
  if (expected === 'refused') return onlyHaproxyAccepts(bytes)
  return found === 'refused' && isUnspecified(bytes)
}

/** HAProxy refuses an unspecified family; by proxy-protocol.txt it means the sender's own address. */
const isUnspecified = (header: Buffer): boolean => header[12] === 0x21 && (header[13] ?? 0) >> 4 === 0

/** Headers that only HAProxy accepts: longer ones, words after the ports, invalid numbers, and mixed address families. */
function onlyHaproxyAccepts(header: Buffer): boolean {
  const [line = ''] = header.toString('latin1').split('\r\n', 1)
  if (!line.startsWith('PROXY')) return 16 + header.readUInt16BE(14) > maxProxyHeaderBytes || isMixed(header)
  const [, , source = '', destination = '', ...ports] = line.split(' ')
  const isOneFamily = familyOf(canonicalAddress(source)) === familyOf(canonicalAddress(destination))
  return !isIP(source) || !isIP(destination) || !isOneFamily || ports.length > 2 || !ports.every(isPort)
}

const isPort = (text: string): boolean => /^(0|[1-9]\d{0,4})$/.test(text) && Number(text) <= 65_535

/** True if exactly one of the IPv6 addresses is an IPv4-mapped one. */
function isMixed(header: Buffer): boolean {
  const isMapped = (at: number) => header.toString('hex', at, at + 12) === '00000000000000000000ffff'
  return header[13] === 0x21 && isMapped(16) !== isMapped(32)
}

t.test('both parsers give the same verdicts, for whole headers and byte by byte', async t => {
  const judgeInCpp = compileJudge(t.testdir())
  const left = headers(generated)
  for (let batch = left.take(batchSize).toArray(); batch.length > 0; batch = left.take(batchSize).toArray()) {
    const ours = batch.map(judgeInTypeScript)
    const theirs = judgeInCpp?.(batch) ?? ours
    const differing = batch.filter((_, at) => ours[at] !== theirs[at] || ours[at]?.includes('byte by byte'))
    t.same(
      differing.map(bytes => bytes.toString('latin1')),
      []
    )
  }
})

t.test('the engines refuse the headers that HAProxy refuses, and few others', { skip: missing }, async t => {
  const port = await startHaproxy(t)
  let accepted = 0

  const differing = await askAll(headers(generated), 32, async header => {
    const found = await askHaproxy(port, header)
    if (found !== 'refused') accepted++
    return found
  })

  const unknown = differing.filter(judged => !isKnown(judged))
  const real: object[] = []
  const lost: object[] = []
  for (const judged of unknown) {
    const again = await askHaproxy(port, judged.bytes)
    const list = again === judged.found ? real : lost
    list.push(shown(judged))
  }
  t.same(real, [], 'HAProxy gives the same verdict')
  t.same(
    lost,
    [],
    'HAProxy gives the same verdict when asked again alone; otherwise the harness lost an answer'
  )
  t.ok(accepted > generated / 20, `${accepted} of ${generated} were accepted`)
  t.comment(`${accepted} of ${generated} accepted, ${differing.length} known differences`)
})

const native = nativeUnderTest()
for (const [name, openEngine] of Object.entries({
  portable: openPortableEngine,
  ...(native.ok && { native: native.openEngine })
}))
  t.test(`an engine agrees with the parser on a header that arrives byte by byte (${name})`, async t => {
    const { engine } = engineFixture(t, openEngine)
    const rule = await ruleTo([await openTarget(t, echo)], { firstRead: proxied, preamble: proxyV1 })
    await engine.open(rule)

    // Few at a time, because a header must arrive within three seconds.
    const differing = await askAll(headers(bytewise), 4, header => askBytewise(rule.from, header))

    t.same(differing.map(shown), [])
  })
