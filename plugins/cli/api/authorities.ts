// The certificate authorities that a command trusts instead of Node's: from --cacert, SVC_CACERT or the login.
import { readFileSync } from 'node:fs'
import { Fault, reasonOf, wrongUsage } from '../../../kernel/base/errors.ts'

type Env = Readonly<Record<string, string | undefined>>

/** The help text for commands that declare `server` and `cacert` themselves. */
export const cacertHelp =
  'PEM file with the authorities to trust, or with the certificate itself; default SVC_CACERT.'

/** Returns the certificates in the file that the flag or SVC_CACERT names, or undefined if neither is given. */
export function givenAuthorities(flag: unknown, env: Env): string | undefined {
  const name = flag === undefined ? 'SVC_CACERT' : '--cacert'
  const file = flag === undefined ? env['SVC_CACERT'] : String(flag)
  if (file === undefined) return undefined
  const { X509Certificate } = process.getBuiltinModule('node:crypto')
  try {
    const pem = readFileSync(file, 'utf8').match(certificates)?.join('\n') ?? '' // omits a private key in the same file
    new X509Certificate(pem)
    return pem
  } catch (cause) {
    throw new Fault(wrongUsage, `${name} ${file} must be a file with PEM certificates: ${reasonOf(cause)}`, {
      cause
    })
  }
}

const certificates = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g
