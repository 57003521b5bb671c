// The look: one quiet green, greys that lean towards it, contrast that holds in both schemes.
import { createTheme, type CSSVariablesResolver } from "@mantine/core"

export const theme = createTheme({
  primaryColor: "pine",
  primaryShade: { light: 8, dark: 7 },
  colors: {
    pine: [
      "#eef8f6",
      "#d9eeea",
      "#b1dcd4",
      "#85c8bc",
      "#60b6a7",
      "#469f90",
      "#31877a",
      "#1f7367",
      "#14665c",
      "#0b4f47"
    ],
    red: [
      "#fdf1ef",
      "#fadfdb",
      "#f5beb6",
      "#ef998d",
      "#e5766a",
      "#d85a4d",
      "#cc463b",
      "#bd3830",
      "#a92f28",
      "#86231e"
    ],
    dark: [
      "#e4eae8",
      "#b9c4c0",
      "#98a6a1",
      "#6f7e79",
      "#3b4744",
      "#2c3634",
      "#1d2523",
      "#161c1b",
      "#101514",
      "#0b0f0e"
    ],
    gray: [
      "#f6f8f6",
      "#eef1ee",
      "#e3e8e5",
      "#d3dad6",
      "#b8c2bd",
      "#97a39d",
      "#6f7c76",
      "#55625c",
      "#37423e",
      "#1d2623"
    ]
  },
  black: "#1a2220",
  defaultRadius: "md",
  radius: { xs: "4px", sm: "6px", md: "8px", lg: "12px", xl: "18px" },
  fontFamily:
    "\"Inter var\", Inter, ui-sans-serif, system-ui, -apple-system, \"Segoe UI\", Roboto, \"Noto Sans\", sans-serif",
  fontFamilyMonospace:
    "ui-monospace, SFMono-Regular, \"JetBrains Mono\", Menlo, Consolas, \"Noto Sans Mono\", monospace",
  fontSizes: { xs: "0.75rem", sm: "0.8438rem", md: "0.9375rem", lg: "1.0625rem", xl: "1.25rem" },
  headings: { fontWeight: "640" },
  cursorType: "pointer",
  respectReducedMotion: true,
  focusRing: "auto",
  components: {
    Menu: { defaultProps: { withInitialFocusPlaceholder: false } },
    Modal: { defaultProps: { padding: "lg", radius: "lg" } }
  }
})

export const variables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    "--mantine-color-body": "#f6f8f6",
    "--mantine-color-dimmed": "#55625c",
    "--mantine-color-placeholder": "#66736d",
    "--mantine-color-error": "#a92f28"
  },
  dark: {
    "--mantine-color-body": "#101514",
    "--mantine-color-dimmed": "#9daba6",
    "--mantine-color-placeholder": "#84928d",
    "--mantine-color-error": "#f3a79c"
  }
})
