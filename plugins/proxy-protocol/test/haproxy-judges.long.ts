// HAProxy and the parser of headers judge alike. PROXY_HEADERS: how many generated ones.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, isIP } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { canonicalAddress, familyOf } from '../../../agent/net/address.ts'
import { maxProxyHeaderBytes, parseProxyHeader } from '../../../agent/portable-engine/proxy-header.ts'
import { generateHeaders } from '../../../test/engine/generated-headers.ts'
import { headerCases } from '../../../test/engine/proxy-headers.ts'
import { freePort } from '../../../test/support/ports.ts'
import { missing } from './proxies.ts'

const generated = Number(process.env['PROXY_HEADERS'] ?? 20_000)
const atOnce = 32

/** HAProxy reads headers on a port, and says in a line of version 1 what they mean: the target sends back what it gets. */
async function startHaproxy(t: Test): Promise<number> {
  const target = createServer({ allowHalfOpen: true }, socket => socket.on('error', () => {}).pipe(socket))
  await once(target.listen(0, '127.0.0.1'), 'listening')
  const [port, { port: to }] = [await freePort(), target.address() as AddressInfo]
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
  server target 127.0.0.1:${to} send-proxy
`
  )
  const program = spawn('haproxy', ['-db', '-f', file], { stdio: 'inherit' })
  t.teardown(async () => {
    const ended = once(program, 'exit')
    program.kill('SIGKILL')
    await ended
    target.close()
  })
  while (!(await judgedBy(port, Buffer.from('PROXY UNKNOWN\r\n'))).startsWith('own')) await setTimeout(50)
  return port
}

async function judgedBy(port: number, header: Buffer): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1' })
  let own = ''
  socket.once('connect', () => {
    own = `127.0.0.1 ${socket.localPort}`
  })
  const received: Buffer[] = []
  socket.on('data', bytes => received.push(bytes)).on('error', () => socket.destroy()) // a refusal may be a reset
  socket.end(header)
  await new Promise(resolve => socket.once('close', resolve))
  const all = Buffer.concat(received)
  const end = all.indexOf('\r\n')
  if (end < 0) return 'refused'
  const [, , source = '', destination = '', sourcePort, destinationPort] = all
    .toString('latin1', 0, end)
    .split(' ')
  const caller = `${canonicalAddress(source)} ${sourcePort}`
  const rest = all.length - end - 2
  if (caller === own) return `own, and ${rest} bytes`
  return `${caller} ${canonicalAddress(destination)} ${destinationPort}, and ${rest} bytes`
}

function judgedHere(bytes: Buffer): string {
  const { kind, size, named } = parseProxyHeader(bytes, 'stream')
  if (kind !== 'right') return 'refused'
  const rest = bytes.length - size
  if (!named) return `own, and ${rest} bytes`
  const { caller, destination } = named
  return `${caller.address} ${caller.port} ${destination.address} ${destination.port}, and ${rest} bytes`
}

/** By proxy-protocol.txt an unspecified family stands for the sender's own address; HAProxy refuses it. */
const isUnspecified = (header: Buffer): boolean => header[12] === 0x21 && (header[13] ?? 0) >> 4 === 0

/** What HAProxy takes and means nothing else: longer headers, numbers that are none, and ends of two families. */
function isTakenByHaproxyAlone(header: Buffer): boolean {
  const [line = ''] = header.toString('latin1').split('\r\n', 1)
  if (!line.startsWith('PROXY')) return 16 + header.readUInt16BE(14) > maxProxyHeaderBytes || isMixed(header)
  const [, , source = '', destination = '', ...ports] = line.split(' ')
  const isOneFamily = familyOf(canonicalAddress(source)) === familyOf(canonicalAddress(destination))
  return !isIP(source) || !isIP(destination) || !isOneFamily || !ports.every(isPort)
}

const isPort = (text: string): boolean => /^(0|[1-9]\d{0,4})$/.test(text) && Number(text) <= 65_535

/** One IPv6 address is an IPv4 address, the other is not. */
function isMixed(header: Buffer): boolean {
  const isMapped = (at: number) => header.toString('hex', at, at + 12) === '00000000000000000000ffff'
  return header[13] === 0x21 && isMapped(16) !== isMapped(32)
}

t.test('what HAProxy refuses is refused, and little more', { skip: missing }, async t => {
  const port = await startHaproxy(t)
  const headers = [...Object.values(headerCases).map(({ bytes }) => bytes), ...generateHeaders(generated)]
  const differing: object[] = []
  let accepted = 0
  const left = headers.values()
  const judge = async () => {
    for (const header of left) {
      const ours = judgedHere(header)
      let theirs = await judgedBy(port, header)
      // HAProxy resets a caller, too, when it has no local port for its target: at this rate it happens.
      for (
        let tries = 0;
        theirs === 'refused' && ours !== theirs && !isUnspecified(header) && tries < 20;
        tries++
      ) {
        await setTimeout(500)
        theirs = await judgedBy(port, header)
      }
      if (theirs !== 'refused') accepted++
      if (ours === theirs) continue
      if (ours === 'refused' ? isTakenByHaproxyAlone(header) : isUnspecified(header)) continue
      differing.push({ header: header.toString('latin1'), ours, theirs })
    }
  }
  await Promise.all(Array.from({ length: atOnce }, judge))

  t.same(differing, [])
  t.ok(accepted > generated / 20, `${accepted} of ${headers.length} were accepted`)
})
