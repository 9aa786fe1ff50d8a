interface Props {
  readonly share: number // 0 to 1
  readonly label: string
  readonly tone: 'good' | 'warn' | 'bad'
}

/** A bar of how much is used, with the figures in words. */
export const Usage = ({ share, label, tone }: Props) => (
  <div className="usage">
    <svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
      <rect className="usage-all" width="100" height="6" />
      <rect data-tone={tone} width={Math.min(1, share) * 100} height="6" />
    </svg>
    <span>{label}</span>
  </div>
)
