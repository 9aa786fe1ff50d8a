// Compares the verdicts of HAProxy, of both header parsers and of both engines on the same headers: refused, or accepted with
// which addresses. The variable PROXY_HEADERS sets the number of generated headers.
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect, isIP, type Socket } from 'node:net'
import { join } from 'node:path'
import { setImmediate, setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { canonicalAddress, familyOf } from '../../../agent/net/address.ts'
import { openPortableEngine } from '../../../agent/portable-engine/portable-engine.ts'
import { maxProxyHeaderBytes } from '../../../agent/portable-engine/proxy-header.ts'
import { proxyFirstRead } from '../../../test/engine/cases/first-read.ts'
import { echo, engineFixture, openTarget, ruleTo } from '../../../test/engine/engine-fixture.ts'
import { generateHeaders } from '../../../test/engine/generated-headers.ts'
import { compileJudge, judgeInTypeScript } from '../../../test/engine/header-judges.ts'
import { nativeUnderTest } from '../../../test/engine/native-under-test.ts'
import { proxyV1 } from '../../../test/engine/preambles.ts'
import { headerCases } from '../../../test/engine/proxy-headers.ts'
import { spawnChild } from '../../../test/support/child-process.ts'
import { freePort } from '../../../test/support/ports.ts'
import { skipReason } from './proxies.ts'

const generatedCount = Number(process.env['PROXY_HEADERS'] ?? 10_000)
const bytewiseCount = Math.ceil(generatedCount / 100) // fewer, since each byte is one segment
const batchSize = 20_000

/** A header on which a peer and our parser disagree. */
interface Disagreement {
  readonly header: Buffer
  readonly expected: string // as the parser says
  readonly answer: string
}

function* headers(count: number): Generator<Buffer> {
  for (const { bytes } of Object.values(headerCases)) yield bytes
  yield* generateHeaders(count)
}

/** Starts HAProxy and returns its port. HAProxy sends its own version 1 header to an echo target, so callers receive it. */
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
    // HAProxy drops a connection to the target that is still opening when the caller ends.
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

/**
 * Returns the verdict in an answer: 'refused' without a version 1 line, else the addresses in the line ('own' for the
 * address of this socket) and the number of bytes after it.
 */
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

/** Converts the verdict of `judgeInTypeScript` to the form of `ask`. */
function toAnswer(verdict: string, header: Buffer): string {
  const [kind, size, ...addresses] = verdict.split(' ')
  const rest = `${header.length - Number(size)} bytes`
  if (kind === 'unnamed') return `own, and ${rest}`
  return kind === 'named' ? `${addresses.join(' ')}, and ${rest}` : 'refused'
}

/** Asks about all headers, `atOnce` at a time. Returns the answers that differ from the parser's verdicts. */
async function askAll(
  all: Iterator<Buffer>,
  atOnce: number,
  askOne: (header: Buffer) => Promise<string>
): Promise<Disagreement[]> {
  const remaining = Iterator.from(all)
  const differing: Disagreement[] = []
  const askSome = async () => {
    for (const header of remaining) {
      const expected = toAnswer(judgeInTypeScript(header), header)
      const answer = await askOne(header)
      if (answer !== expected) differing.push({ header, expected, answer })
    }
  }
  await Promise.all(Array.from({ length: atOnce }, askSome))
  return differing
}

const toPrintable = ({ header, ...answers }: Disagreement) => ({
  header: header.toString('latin1'),
  ...answers
})

/** True for an intended difference between HAProxy and our parser. */
function isKnown({ header, expected, answer }: Disagreement): boolean {
  if (expected === 'refused') return onlyHaproxyAccepts(header)
  return answer === 'refused' && isUnspecified(header)
}

/** HAProxy refuses the unspecified family; proxy-protocol.txt says to use the connection's own addresses then. */
const isUnspecified = (header: Buffer): boolean => header[12] === 0x21 && (header[13] ?? 0) >> 4 === 0

/** True if only HAProxy accepts the header: it is long, or has words after the ports, bad numbers or mixed families. */
function onlyHaproxyAccepts(header: Buffer): boolean {
  const [line = ''] = header.toString('latin1').split('\r\n', 1)
  if (!line.startsWith('PROXY')) return 16 + header.readUInt16BE(14) > maxProxyHeaderBytes || isMixed(header)
  const [, , source = '', destination = '', ...ports] = line.split(' ')
  const isOneFamily = familyOf(canonicalAddress(source)) === familyOf(canonicalAddress(destination))
  return !isIP(source) || !isIP(destination) || !isOneFamily || ports.length > 2 || !ports.every(isPort)
}

const isPort = (text: string): boolean => /^(0|[1-9]\d{0,4})$/.test(text) && Number(text) <= 65_535

/** True if exactly one of the two IPv6 addresses is IPv4-mapped. */
function isMixed(header: Buffer): boolean {
  const isMapped = (at: number) => header.toString('hex', at, at + 12) === '00000000000000000000ffff'
  return header[13] === 0x21 && isMapped(16) !== isMapped(32)
}

t.test('both parsers give the same verdict on a header, whole and byte by byte', async t => {
  const judgeInCpp = compileJudge(t.testdir())
  const remaining = headers(generatedCount)
  const takeBatch = () => remaining.take(batchSize).toArray()
  for (let batch = takeBatch(); batch.length > 0; batch = takeBatch()) {
    const fromTypeScript = batch.map(judgeInTypeScript)
    const fromCpp = judgeInCpp?.(batch) ?? fromTypeScript // without a compiler, only whole against byte by byte
    const differing = batch.filter(
      (_, at) => fromTypeScript[at] !== fromCpp[at] || fromTypeScript[at]?.includes('byte by byte')
    )
    t.same(
      differing.map(bytes => bytes.toString('latin1')),
      []
    )
  }
})

t.test(
  'the engines refuse the headers that HAProxy refuses, and few others',
  { skip: skipReason },
  async t => {
    const port = await startHaproxy(t)
    let accepted = 0

    const differing = await askAll(headers(generatedCount), 32, async header => {
      const answer = await askHaproxy(port, header)
      if (answer !== 'refused') accepted++
      return answer
    })

    const unexplained = differing.filter(one => !isKnown(one))
    const repeatable: object[] = []
    const unrepeatable: object[] = []
    for (const one of unexplained) {
      const again = await askHaproxy(port, one.header)
      const list = again === one.answer ? repeatable : unrepeatable
      list.push(toPrintable(one))
    }
    t.same(repeatable, [], 'HAProxy gives the same verdict')
    t.same(
      unrepeatable,
      [],
      'HAProxy gives the same verdict when asked again alone; otherwise the harness lost an answer'
    )
    t.ok(accepted > generatedCount / 20, `${accepted} of ${generatedCount} were accepted`)
    t.comment(
      `${accepted} of ${generatedCount} accepted, ${differing.length - unexplained.length} known differences`
    )
  }
)

const native = nativeUnderTest()
for (const [name, openEngine] of Object.entries({
  portable: openPortableEngine,
  ...(native.ok && { native: native.openEngine })
}))
  t.test(`the ${name} engine agrees with the parser on headers that arrive byte by byte`, async t => {
    const { engine } = engineFixture(t, openEngine)
    const rule = await ruleTo([await openTarget(t, echo)], { firstRead: proxyFirstRead, preamble: proxyV1 })
    await engine.open(rule)

    // Few at a time, because a header must arrive within three seconds.
    const differing = await askAll(headers(bytewiseCount), 4, header => askBytewise(rule.from, header))

    t.same(differing.map(toPrintable), [])
  })
