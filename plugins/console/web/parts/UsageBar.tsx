import type { Tone } from './Dot.tsx'

interface Props {
  readonly share: number // 0 to 1
  readonly label: string
  readonly tone: Tone
}

/** A usage bar with a text label. */
export const UsageBar = ({ share, label, tone }: Props) => (
  <div className="usage">
    <svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
      <rect className="usage-all" width="100" height="6" />
      <rect data-tone={tone} width={Math.min(1, share) * 100} height="6" />
    </svg>
    <span>{label}</span>
  </div>
)
