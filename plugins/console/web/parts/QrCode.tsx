import { correction, generate } from 'lean-qr/nano'

const quiet = 4 // light modules around the code, which readers need

/** Draws the text as a QR code, dark on white in every theme. */
export function QrCode({ value, label }: { readonly value: string; readonly label: string }) {
  const { size, get } = generate(value, { minCorrectionLevel: correction.M })
  const side = [...Array(size).keys()]
  const dark = side.flatMap(y => side.flatMap(x => (get(x, y) ? `M${x} ${y}h1v1h-1z` : [])))
  const whole = size + 2 * quiet
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`-${quiet} -${quiet} ${whole} ${whole}`}
      width={220}
      shapeRendering="crispEdges"
    >
      <rect x={-quiet} y={-quiet} width={whole} height={whole} fill="#fff" />
      <path d={dark.join('')} fill="#000" />
    </svg>
  )
}
