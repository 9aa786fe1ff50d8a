// Describes the server under attack to the attacker.

/** The attacker's resources, and ids of others that it must not read or change. The attack gets it as JSON. */
export interface Target {
  readonly seed: number
  readonly secs: number // duration of the attack
  readonly origin: string
  readonly controlPort: number
  readonly metricsPort: number
  readonly fingerprint: string
  /** Only for preparations, such as a rule on the attacker's own client. */
  readonly operatorToken: string
  /** An enrollment code for the attacker's client, named mallory. */
  readonly enrollmentUri: string
  /** A plain user with one grant: ports 20000 to 20999 of every client, TCP and UDP. */
  readonly tenant: { readonly userId: string; readonly token: string; readonly password: string }
  readonly victim: {
    readonly userId: string
    readonly clientIds: readonly string[]
    readonly ruleIds: readonly string[]
    readonly ports: readonly number[] // listen ports of the rules
  }
}

/** Uses of others that overlap with 'attacking' are compared with those that are all in 'resting'. */
export type Phase = 'changing' | 'resting' | 'attacking'

/**
 * Attacks for `target.secs`, and announces phases if it rests in between. Resolves with counts of its actions by name.
 * Rejects if it gets forbidden data.
 */
export type Attack = (
  target: Target,
  announce: (phase: Phase) => void
) => Promise<Readonly<Record<string, number>>>

export const attacks = ['agent', 'tenant', 'network', 'bans', 'neighbor'] as const
export type AttackName = (typeof attacks)[number]
