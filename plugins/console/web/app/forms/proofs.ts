// Proofs that a form can ask for, by their names on the server.
import { text } from '../../text/text.ts'

type Proof = keyof typeof text.proofs

export const isProof = (method: string): method is Proof => method in text.proofs

/** Returns the proofs that a user with these second factors can give. A recovery code replaces a code of the app. */
export const proofsFor = (factors: readonly string[], hasPassword: boolean): readonly string[] => [
  ...(hasPassword ? ['password'] : []),
  ...factors.filter(isProof),
  ...(factors.includes('totp') ? ['recovery_code'] : [])
]

export const proofText = (method: string): string => (isProof(method) ? text.proofs[method] : method)

/** Returns the field of a body that has the proof. */
export const proofField = (method: string): string => (method === 'totp' ? 'code' : method)
