// Checks a preamble when its rule is opened: it can then be written for every caller.
import { type EngineFault, engineFault } from '../engine/engine.ts'
import { maxPreambleBytes, type Preamble, type PreambleField, type PreamblePart } from '../engine/preamble.ts'

/** The most bytes of each field. */
const largest: Readonly<Record<PreambleField, Readonly<Record<'binary' | 'text', number>>>> = {
  source_address: { binary: 16, text: 45 },
  source_port: { binary: 2, text: 5 },
  listen_address: { binary: 16, text: 45 },
  listen_port: { binary: 2, text: 5 },
  server_name: { binary: 255, text: 255 },
  connection_id: { binary: 16, text: 32 }
}

/** Throws EngineFault EINVAL for a preamble that is too long, or whose lengths or checksums do not fit. */
export function checkPreamble({ ipv4, ipv6, probe = new Uint8Array() }: Preamble): void {
  for (const [family, parts] of Object.entries({ ipv4, ipv6, probe: [{ bytes: probe }] })) {
    const bytes = mostBytesOf(parts)
    if (bytes > maxPreambleBytes)
      throw invalid(`preamble.${family} may have ${bytes} bytes, of at most ${maxPreambleBytes}`)
    if (checksumsIn(parts) > 1) throw invalid(`preamble.${family} has more than one crc32c`)
  }
}

const invalid = (message: string): EngineFault => engineFault('EINVAL', message)

function mostBytesOf(parts: readonly PreamblePart[]): number {
  return parts.reduce((sum, part) => sum + mostBytesOfPart(part), 0)
}

function mostBytesOfPart(part: PreamblePart): number {
  if ('bytes' in part) return part.bytes.length
  if ('field' in part) return mostBytesOfField(part)
  if ('whenNamed' in part) return mostBytesOf(part.whenNamed)
  if ('crc32c' in part) return 4
  const bytes = mostBytesOf(part.of)
  if (bytes >= 256 ** part.length)
    throw invalid(`a length of ${part.length} bytes in preamble cannot say ${bytes}`)
  return part.length + bytes
}

function mostBytesOfField({ field, form }: { readonly field: string; readonly form: string }): number {
  const bytes = (largest as Readonly<Record<string, Readonly<Record<string, number>>>>)[field]?.[form]
  if (bytes === undefined) throw invalid(`preamble has no field ${field} in the form ${form}`)
  return bytes
}

const checksumsIn = (parts: readonly PreamblePart[]): number =>
  parts.reduce((sum, part) => {
    if ('of' in part) return sum + checksumsIn(part.of)
    if ('whenNamed' in part) return sum + checksumsIn(part.whenNamed)
    return 'crc32c' in part ? sum + 1 : sum
  }, 0)
