// A DNS server on loopback, with the subset of RFC 1035 that the tests need.
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv4 } from 'node:net'
import type { Test } from 'tap'

/**
 * Addresses by host name, or by name and type ('web.test A') for one type. `SERVFAIL` answers with that error, `SILENT` never answers. Other names get
 * NXDOMAIN.
 */
export type Zone = Readonly<Record<string, readonly string[] | 'SERVFAIL' | 'SILENT'>>

export interface Dns {
  readonly address: string // with its port, for `setServers`
  readonly questions: readonly string[] // received questions: 'name type'
}

const codes = { none: 0, servfail: 2, nxdomain: 3 }
const types = { a: 1, aaaa: 28 }

export async function openDns(t: Test, zone: Zone, ttlSecs: number): Promise<Dns> {
  const questions: string[] = []
  const server = createSocket('udp4')
  server.on('message', (query, from) => {
    const { name, type } = questionOf(query)
    const question = `${name} ${type === types.a ? 'A' : type === types.aaaa ? 'AAAA' : type}`
    questions.push(question)
    const known = zone[question] ?? zone[name]
    if (known !== 'SILENT') server.send(replyTo(query, known, type, ttlSecs), from.port, from.address)
  })
  server.bind(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return { address: `127.0.0.1:${server.address().port}`, questions }
}

/** Reads labels, type and class of the question, after a header of 12 bytes. */
function questionOf(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 }
}

function replyTo(
  query: Buffer,
  known: readonly string[] | 'SERVFAIL' | undefined,
  type: number,
  ttlSecs: number
): Buffer {
  if (known === undefined) return head(query, codes.nxdomain, 0)
  if (known === 'SERVFAIL') return head(query, codes.servfail, 0)
  const matching = known.filter(address => (isIPv4(address) ? types.a : types.aaaa) === type)
  const records = matching.map(address => record(type, ttlSecs, bytesOf(address)))
  return Buffer.concat([head(query, codes.none, records.length), ...records])
}

function head(query: Buffer, code: number, answers: number): Buffer {
  const reply = Buffer.from(query.subarray(0, questionOf(query).end))
  reply.writeUInt16BE(0x8180 | code, 2) // flags: response, recursion desired and available
  reply.writeUInt16BE(answers, 6)
  reply.writeUInt32BE(0, 8)
  return reply
}

function record(type: number, ttlSecs: number, data: Buffer): Buffer {
  const fields = Buffer.alloc(12)
  fields.writeUInt16BE(0xc00c, 0) // pointer to the name in the question
  fields.writeUInt16BE(type, 2)
  fields.writeUInt16BE(1, 4)
  fields.writeUInt32BE(ttlSecs, 6)
  fields.writeUInt16BE(data.length, 10)
  return Buffer.concat([fields, data])
}

function bytesOf(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number))
  const [head = '', tail] = address.split('::')
  const groups = (part: string) => part.split(':').filter(group => group !== '')
  const zeros = tail === undefined ? 0 : 8 - groups(head).length - groups(tail).length
  const all = [...groups(head), ...Array(zeros).fill('0'), ...groups(tail ?? '')]
  return Buffer.from(all.map(group => group.padStart(4, '0')).join(''), 'hex')
}
