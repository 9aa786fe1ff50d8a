import { text } from '../text/text.ts'
import { Dot, type Tone } from './Dot.tsx'

type Name = keyof typeof text.states

const tones: Partial<Record<Name, Tone>> = {
  active: 'good',
  connected: 'good',
  healthy: 'good',
  up: 'good',
  pending: 'warn',
  draining: 'warn',
  partial: 'warn',
  connecting: 'warn',
  degraded: 'warn',
  ejected: 'warn',
  failed: 'bad',
  down: 'bad',
  disconnected: 'bad',
  conflict: 'bad',
  revoked: 'bad'
}

/** The name of a state with a colored dot. The dot adds no information. */
export const StateLabel = ({ state, title }: { readonly state: Name; readonly title?: string | null }) => (
  <span title={title ?? undefined}>
    <Dot tone={tones[state]} />
    {text.states[state]}
  </span>
)
