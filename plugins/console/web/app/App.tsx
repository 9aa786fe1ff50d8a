import { createTheme, MantineProvider } from '@mantine/core'
import { QueryClientProvider } from '@tanstack/react-query'
import { queries } from '../api/query-client.ts'
import { Boundary } from '../parts/ErrorBoundary.tsx'
import { Gate } from './Gate.tsx'
import { Notices } from './Notices.tsx'

const theme = createTheme({
  primaryColor: 'cyan',
  primaryShade: { light: 9, dark: 9 },
  fontFamily: 'system-ui, sans-serif',
  fontFamilyMonospace: 'ui-monospace, Menlo, Consolas, monospace',
  defaultRadius: 'sm',
  cursorType: 'pointer',
  respectReducedMotion: true,
  components: {
    InputWrapper: { defaultProps: { withAsterisk: false } }, // nearly all fields are required: the others say so
    Text: { defaultProps: { size: 'sm' } } // as fields and tables
  }
})

/** The server gives each response a nonce, for the style elements that Mantine makes. */
const nonce = (): string => document.querySelector<HTMLMetaElement>('meta[property=csp-nonce]')?.nonce ?? ''

// The library by which a dialog stops the page from scrolling takes its nonce from here.
Object.assign(globalThis, { __webpack_nonce__: nonce() })

export const App = () => (
  <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={nonce}>
    <QueryClientProvider client={queries}>
      <Boundary of="">
        <Gate />
      </Boundary>
      <Notices />
    </QueryClientProvider>
  </MantineProvider>
)
