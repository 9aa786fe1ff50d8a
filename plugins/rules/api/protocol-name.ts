import { Type } from 'typebox'
import { validationProtocol } from '../changes/parse-draft.ts'
import type { Protocol } from '../entities.ts'

/** Returns the schema of a protocol in a request, in any case as in a rule. Other values are `validation.protocol`. */
export const protocolName = (description: string) =>
  Type.Refine(
    Type.String({ code: validationProtocol.code, description, examples: ['tcp'] }),
    name => /^(tcp|udp)$/i.test(name),
    () => 'must be tcp or udp'
  )

export const toProtocol = (name: string): Protocol => (name.toLowerCase() === 'udp' ? 'udp' : 'tcp')
