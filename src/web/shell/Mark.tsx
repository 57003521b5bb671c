// The product's mark and name.
export const Mark = () => (
  <span className="mark">
    <svg width="26" height="26" viewBox="0 0 32 32" aria-hidden focusable="false">
      <rect width="32" height="32" rx="8" className="mark-ground" />
      <path d="M8.5 9.5h5.2L23.5 22.5h-5.2z" className="mark-front" />
      <path d="M23.5 9.5h-4.6l-2.5 3.2 2.3 3zM8.5 22.5h4.6l2.5-3.2-2.3-3z" className="mark-back" />
    </svg>
    <span>crossfire</span>
  </span>
)
