// Verdicts of both PROXY protocol parsers on headers, as lines of text: TypeScript, and C++ if there is a compiler.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { type ProxyHeader, parseProxyHeader } from '../../agent/portable-engine/proxy-header.ts'

const native = join(import.meta.dirname, '../../native')
const sources = ['test/proxy-headers.cc', 'src/proxy-header.cc', 'src/address.cc']
const flags = ['-std=c++20', '-O1', '-fsanitize=address,undefined', '-fno-sanitize-recover=undefined']

/**
 * Returns 'incomplete 0', 'wrong 0', 'unnamed SIZE' or 'named SIZE SOURCE PORT DESTINATION PORT'. Appends ', byte by byte'
 * and the other verdict if the bytes get another one when they arrive one at a time.
 */
export function judgeInTypeScript(bytes: Buffer): string {
  const whole = lineOf(parseProxyHeader(bytes, 'stream'))
  const bytewise = lineOf(parseBytewise(bytes))
  return whole === bytewise ? whole : `${whole}, byte by byte ${bytewise}`
}

/** Parses growing prefixes, and returns the first result that is not incomplete. */
function parseBytewise(bytes: Buffer): ProxyHeader {
  for (let end = 0; end < bytes.length; end++) {
    const header = parseProxyHeader(bytes.subarray(0, end), 'stream')
    if (header.kind !== 'incomplete') return header
  }
  return parseProxyHeader(bytes, 'stream')
}

function lineOf({ kind, size, named }: ProxyHeader): string {
  if (kind !== 'right') return `${kind} 0`
  if (!named) return `unnamed ${size}`
  const { caller, destination } = named
  return `named ${size} ${caller.address} ${caller.port} ${destination.address} ${destination.port}`
}

/** Compiles the C++ parser to a function that judges many headers at once; null without a compiler. */
export function compileJudge(dir: string): ((headers: readonly Buffer[]) => string[]) | null {
  const judge = join(dir, 'proxy-headers')
  const files = sources.map(file => join(native, file))
  if (spawnSync('g++', [...flags, '-o', judge, ...files]).status !== 0) return null
  return headers => {
    const input = headers.flatMap(bytes => [Buffer.from([bytes.length >> 8, bytes.length & 255]), bytes])
    const { stdout, stderr, status } = spawnSync(judge, { input: Buffer.concat(input), maxBuffer: 2 ** 26 })
    if (status !== 0) throw new Error(String(stderr))
    return String(stdout).trimEnd().split('\n')
  }
}
